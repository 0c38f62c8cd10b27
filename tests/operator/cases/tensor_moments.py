"""Cases of moments, histograms, places, windows, densities and their neighbours."""

from math import lgamma

import numpy as np

from .case import Case, Input, ints

FLOATS = ("float16", "float32", "float64")
EVERY = (*FLOATS, "int32", "int64")
lgamma = np.vectorize(lgamma, otypes=[float])


def moments(x, axes, keepdims=False):
    wide = x.astype(float)
    mean, var = (f(axis=axes, keepdims=keepdims) for f in (wide.mean, wide.var))
    return np.asarray(mean).astype(x.dtype), np.asarray(var).astype(x.dtype)


def histogram(x, bins=None, bin_cnt=None, range=None):
    counts, edges = np.histogram(x, bins if bin_cnt is None else bin_cnt, range)
    return counts, edges if bin_cnt and x.dtype.kind in "iu" else edges.astype(x.dtype)


def khatri_rao(*matrices, num_args):
    out = matrices[0]
    for each in matrices[1:]:
        out = (out[:, None] * each[None]).reshape(-1, out.shape[1])
    return out


def fill(lhs, mhs, rhs):
    out = lhs.copy()
    for i, column in enumerate(rhs.astype(int)):
        if 0 <= column < lhs.shape[1]:
            out[i, column] = mhs[i]
    return out


def padded(x, pad):
    return np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in pad]])


def im2col(x, kernel, stride=(), dilate=(), pad=()):
    n = len(kernel)
    stride, dilate, pad = stride or (1,) * n, dilate or (1,) * n, pad or (0,) * n
    x = padded(x, pad)
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilate)]
    views = np.lib.stride_tricks.sliding_window_view(x, spans, tuple(range(2, 2 + n)))
    views = views[
        (
            slice(None),
            slice(None),
            *[slice(None, None, s) for s in stride],
            *[slice(None, None, d) for d in dilate],
        )
    ]
    order = (0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n))
    return views.transpose(order).reshape(x.shape[0], x.shape[1] * int(np.prod(kernel)), -1)


def col2im(columns, output_size, kernel, **windows):
    channels = columns.shape[1] // int(np.prod(kernel))
    out = np.zeros((columns.shape[0], channels, *output_size), columns.dtype)
    for at in np.ndindex(*out.shape[1:]):
        one = np.zeros((1, *out.shape[1:]), columns.dtype)
        one[(0, *at)] = 1
        out[(slice(None), *at)] = (im2col(one, kernel, **windows) * columns).sum((1, 2))
    return out


def density(log):
    def reference(x, *parameters, is_log=False):
        wide = [p.astype(float).reshape(p.shape + (1,) * (x.ndim - p.ndim)) for p in parameters]
        value = log(x.astype(float), *wide)
        return (value if is_log else np.exp(value)).astype(x.dtype)

    return reference


def negative_binomial(x, k, p):
    return lgamma(x + k) - lgamma(x + 1) - lgamma(k) + k * np.log(p) + x * np.log(1 - p)


def dirichlet(x, alpha, is_log=False):
    wide = alpha.astype(float)
    wide = wide.reshape(*wide.shape[:-1], *(1,) * (x.ndim - wide.ndim), wide.shape[-1])
    value = ((wide - 1) * np.log(x)).sum(-1) - lgamma(wide).sum(-1) + lgamma(wide.sum(-1))
    value = np.atleast_1d(value)
    return (value if is_log else np.exp(value)).astype(x.dtype)


def simplex(rng, shape):
    return rng.dirichlet(np.full(shape[-1], 3.0), shape[:-1])


HALF, COUNTS = (0.5, 2.0), ints(0, 6)
# name, logarithm, domains of samples and parameters, which have a numeric gradient
DENSITIES = [
    ("uniform", lambda x, a, b: -np.log(b - a) + 0 * x, (0.0, 1.0), ((-2.0, -1.0), (1.5, 2.0)),
     (0, 1, 2)),
    ("normal", lambda x, m, s: -((x - m) / s) ** 2 / 2 - np.log(s * np.sqrt(2 * np.pi)),
     (-2.0, 2.0), ((-1.0, 1.0), HALF), (0, 1, 2)),
    ("gamma", lambda x, a, b: a * np.log(b) + (a - 1) * np.log(x) - b * x - lgamma(a),
     HALF, (HALF, HALF), (0, 1, 2)),
    ("exponential", lambda x, r: np.log(r) - r * x, HALF, (HALF,), (0, 1)),
    ("poisson", lambda x, r: x * np.log(r) - r - lgamma(x + 1), COUNTS, (HALF,), (1,)),
    ("negative_binomial", negative_binomial, COUNTS, ((1.0, 4.0), (0.2, 0.8)), (1, 2)),
    ("generalized_negative_binomial",
     lambda x, m, a: negative_binomial(x, 1 / a, 1 / (1 + m * a)), COUNTS, (HALF, HALF), (1, 2)),
]  # fmt: skip
MEANS = np.array([0.2, 0.5, 0.7])


def sparse_reg(heads, x, penalty=0.001, momentum=0.9):
    axes = (0, *range(2, x.ndim))
    r = momentum * MEANS + (1 - momentum) * x.mean(axes)
    push = penalty * (0.9 / (1 - r) - 0.1 / r)
    return [heads[0] + push.reshape(1, -1, *(1,) * (x.ndim - 2))]


LOOSE = {"float32": (2e-4, 2e-5), "float64": (1e-9, 1e-10)}


def places(shape):
    return lambda rng, s: np.stack([rng.integers(0, n, s[1:]) for n in shape])


CASES = [
    Case("moments", [(3, 4)], moments, {"axes": (0,)}, dtypes=FLOATS),
    Case("moments", [(3, 4)], moments, {"axes": (-1,), "keepdims": True}),
    Case("moments", [(2, 3, 4, 5)], moments, {"axes": (0, 2)}),
    Case("moments", [(2, 3, 19)], moments, {"axes": (1,)}),
    Case("moments", [(3, 40)], moments, {"axes": (0, 1)}),
    Case("moments", [Input((3, 4), ints(0, 9))], moments, {"axes": (1,)}, grad=(),
         dtypes=("int32", "int64")),
    Case("_histogram", [Input((20,), (-1.0, 6.0))], histogram,
         {"bin_cnt": 5, "range": (0.0, 5.0)}, grad=False, dtypes=("float32", "float64", "int32")),
    Case("_histogram", [Input((4, 5), ints(-1, 5)), Input((4,), [0, 1, 1, 3])], histogram,
         grad=False, dtypes=EVERY),
    Case("_ravel_multi_index", [Input((2, 5), places((4, 6)))],
         lambda x, shape: np.ravel_multi_index(x.astype(int), shape).astype(x.dtype),
         {"shape": (4, 6)}, grad=False, dtypes=EVERY, back=(0,)),
    Case("_ravel_multi_index", [Input((3, 2, 2), places((4, 6, 3)))],
         lambda x, shape: np.ravel_multi_index(x.astype(int), (4, 6, 3)).astype(x.dtype),
         {"shape": (-1, 6, 3)}, grad=False, back=(0,)),
    Case("_unravel_index", [Input((5,), ints(0, 24))],
         lambda x, shape: np.stack(np.unravel_index(x.astype(int), shape)).astype(x.dtype),
         {"shape": (4, 6)}, grad=False, dtypes=EVERY, back=(0,)),
    Case("_unravel_index", [Input((2, 3), ints(0, 72))],
         lambda x, shape: np.stack(np.unravel_index(x.astype(int), (4, 6, 3))).astype(x.dtype),
         {"shape": (-1, 6, 3)}, grad=False, back=(0,)),
    Case("fill_element_0index", [(4, 3), (4,), Input((4,), [0, -1, 2, 3])], fill, grad=False,
         exact=True, back=(0,), infers=(1, 2)),
    Case("khatri_rao", [(3, 4)], khatri_rao, {"num_args": 1}),
    Case("khatri_rao", [(3, 4), (2, 4)], khatri_rao, {"num_args": 2}),
    Case("khatri_rao", [(3, 2), (2, 2), (4, 2)], khatri_rao, {"num_args": 3}),
    Case("im2col", [(2, 3, 5, 6)], im2col, {"kernel": (2, 3)}),
    Case("im2col", [(1, 2, 7)], im2col, {"kernel": (3,), "stride": (2,), "pad": (1,)}),
    Case("im2col", [(1, 2, 6, 7)], im2col,
         {"kernel": (2, 2), "dilate": (2, 3), "stride": (1, 2), "pad": (1, 0)}),
    Case("im2col", [(1, 1, 3, 4, 3)], im2col, {"kernel": (2, 2, 1), "pad": (1, 0, 1)}),
    Case("col2im", [(2, 12, 12)], col2im, {"output_size": (4, 5), "kernel": (2, 2)}),
    Case("col2im", [(1, 6, 4)], col2im,
         {"output_size": (7,), "kernel": (3,), "stride": (2,), "pad": (1,)}),
    Case("col2im", [(1, 4, 9)], col2im,
         {"output_size": (5, 6), "kernel": (2, 2), "dilate": (1, 2), "stride": (2, 2),
          "pad": (1, 1)}),
    Case("_identity_with_attr_like_rhs", [(2, 3), (2, 3)], lambda a, b: a, grad=(0,), back=(0,)),
    Case("IdentityAttachKLSparseReg", [Input((4, 3), (0.1, 0.9))],
         lambda x, r, **p: (x, 0.9 * r + 0.1 * x.mean(0)), {"penalty": 0.01},
         aux=[Input((3,), MEANS, wide=True)], grad=False, reference_grad=sparse_reg, back=(0,)),
    Case("IdentityAttachKLSparseReg", [Input((2, 3, 4), (0.1, 0.9))],
         lambda x, r, **p: (x, 0.5 * r + 0.5 * x.mean((0, 2))), {"momentum": 0.5},
         aux=[Input((3,), MEANS, wide=True)], grad=False, reference_grad=sparse_reg, back=(0,)),
    *[
        Case(f"_random_pdf_{name}",
             [Input((2, 3, *more), sample), *[Input((2, 3), d) for d in domains]],
             density(log), {"is_log": is_log}, grad=grad, back=(0,), tolerance=LOOSE)
        for name, log, sample, domains, grad in DENSITIES
        for is_log, more in ((False, ()), (True, (4,)))
    ],
    Case("_random_pdf_dirichlet", [Input((2, 3), simplex), Input((2, 3), HALF)], dirichlet,
         tolerance=LOOSE),
    Case("_random_pdf_dirichlet", [Input((2, 4, 3), simplex), Input((2, 3), HALF)], dirichlet,
         {"is_log": True}, tolerance=LOOSE),
]  # fmt: skip
EXCEPTIONS = {"_sample_unique_zipfian": "draws; tests/operator/random/test_zipfian.py"}
