"""Cases of contrib's operators that are of no other family."""

import numpy as np

from .case import Case, Input, away_from_zero, ints, off_integers

FLOATS = ("float16", "float32", "float64")
EVERY = (*FLOATS, "int32", "int64", "uint8", "int8")


def quadratic(x, a=0.0, b=0.0, c=0.0):
    if x.dtype.kind != "f":
        return (a * x.astype(float) ** 2 + b * x + c).astype(x.dtype)
    return a * x**2 + b * x + c


def fft(x, compute_size=128):
    y = np.fft.fft(x.astype(float))
    return np.stack([y.real, y.imag], -1).reshape(*x.shape[:-1], -1).astype(x.dtype)


def ifft(x, compute_size=128):
    z = x.astype(float).reshape(*x.shape[:-1], -1, 2)
    y = np.fft.ifft(z[..., 0] + 1j * z[..., 1]) * z.shape[-2]
    return y.real.astype(x.dtype)


def count_sketch(data, h, s, out_dim, processing_batch_size=32):
    out = np.zeros((*data.shape[:-1], out_dim), data.dtype)
    for i, (to, sign) in enumerate(zip(h.ravel().astype(int), s.ravel())):
        out[..., to] += sign * data[..., i]
    return out


def index_copy(old, index, new):
    out = old.copy()
    out[index.astype(int)] = new
    return out


def index_array(data, axes=None):
    axes = range(data.ndim) if axes is None else axes
    return np.stack([np.indices(data.shape)[a] for a in axes], -1)


def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=True):
    return np.array([np.allclose(a, b, rtol, atol, equal_nan)], "uint8")


def near(shift):
    return lambda rng, shape: np.arange(np.prod(shape)).reshape(shape) + shift


TRANSFORMS = {"float32": (1e-4, 1e-4), "float64": (1e-9, 1e-10)}
CASES = [
    Case("_contrib_quadratic", [(3, 4)], quadratic, {"a": 1.5, "b": -2.0, "c": 0.5}, back=(0,),
         dtypes=FLOATS),
    Case("_contrib_quadratic", [Input((5,), ints(0, 5))], quadratic, {"a": 2.0, "c": 3.0},
         grad=(), dtypes=("int32", "int64", "uint8"), back=(0,)),
    Case("_contrib_div_sqrt_dim", [(2, 3, 5)], lambda x: x / np.sqrt(np.asarray(5, x.dtype)),
         back=(0,), dtypes=FLOATS),
    Case("_contrib_gradientmultiplier", [(3, 4)], lambda x, scalar: x, {"scalar": -0.5}, grad=False,
         reference_grad=lambda heads, x, scalar: [heads[0] * scalar], back=(0,), dtypes=FLOATS),
    Case("_contrib_round_ste", [Input((3, 4), off_integers)],
         lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), grad=False,
         reference_grad=lambda heads, x: [heads[0]], back=(0,)),
    Case("_contrib_sign_ste", [Input((3, 4), away_from_zero)], np.sign, grad=False,
         reference_grad=lambda heads, x: [heads[0]], back=(0,)),
    *[
        Case("_contrib_fft", [(*rows, n)], fft, back=(0,), tolerance=TRANSFORMS)
        for rows, n in (((2,), 4), ((2, 3), 5), ((1,), 1), ((), 12), ((3,), 17))
    ],
    *[
        Case("_contrib_ifft", [(*rows, 2 * n)], ifft, back=(0,), tolerance=TRANSFORMS)
        for rows, n in (((2,), 4), ((2, 3), 5), ((1,), 1), ((), 12), ((3,), 17))
    ],
    Case("_contrib_count_sketch",
         [(3, 6), Input((1, 6), ints(0, 4)), Input((1, 6), lambda r, s: r.choice([-1.0, 1.0], s))],
         count_sketch, {"out_dim": 4}, grad=(0,), infers=(1, 2)),
    Case("_contrib_count_sketch",
         [(2, 2, 5), Input((5,), ints(0, 9)), Input((5,), lambda r, s: r.choice([-1.0, 1.0], s))],
         count_sketch, {"out_dim": 9}, grad=(0,)),
    Case("_contrib_index_copy", [(4, 3), Input((2,), [3, 1], "int32"), (2, 3)], index_copy,
         back=(0,), grad=(0, 2), exact=True),
    Case("_contrib_index_copy", [(4, 2, 2), Input((3,), [0, 2, 3], "int64"), (3, 2, 2)], index_copy,
         back=(0,), grad=(0, 2), exact=True),
    Case("_contrib_index_array", [(2, 3)], index_array, grad=False),
    Case("_contrib_index_array", [(2, 3, 4)], index_array, {"axes": (-1, 0)}, grad=False),
    Case("_contrib_allclose", [Input((3, 2), near(0)), Input((3, 2), near(0))], allclose,
         grad=False),
    Case("_contrib_allclose", [Input((3, 2), near(0)), Input((3, 2), near(0.01))], allclose,
         {"atol": 1e-3}, grad=False, note="apart"),
]  # fmt: skip
