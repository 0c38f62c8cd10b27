"""Cases of linear algebra."""

import numpy as np

from .case import Case, Input


def turned(a):
    return np.swapaxes(a, -1, -2)


def spd(rng, shape):
    """Domain of symmetric positive definite matrices."""
    a = rng.uniform(-1, 1, shape)
    return a @ turned(a) + 2 * np.eye(shape[-1])


def far_from_singular(rng, shape):
    """Domain of square matrices with determinants of both signs, none near 0."""
    a = rng.uniform(-0.5, 0.5, shape) + 2 * np.eye(shape[-1])
    a[..., 0, :] *= rng.choice([-1.0, 1.0], (*shape[:-2], 1))
    return a


def op(a, transpose):
    return turned(a) if transpose else a


def gemm(a, b, c=0.0, transpose_a=False, transpose_b=False, alpha=1.0, beta=1.0, axis=-2):
    a, b = (np.moveaxis(each, axis, -2) for each in (a, b))
    product = alpha * (op(a, transpose_a) @ op(b, transpose_b))
    return np.moveaxis(product, -2, axis) + beta * c


def triangle(a, lower):
    return np.tril(a) if lower else np.triu(a)


def trmm(a, b, transpose=False, rightside=False, lower=True, alpha=1.0):
    a = op(triangle(a, lower), transpose)
    return alpha * (b @ a if rightside else a @ b)


def trsm(a, b, transpose=False, rightside=False, lower=True, alpha=1.0):
    a = np.linalg.inv(op(triangle(a, lower), transpose))
    return alpha * (b @ a if rightside else a @ b)


def syrk(a, transpose=False, alpha=1.0):
    a = op(a, transpose)
    return alpha * (a @ turned(a))


def symmetric(a):
    return np.tril(a) + turned(np.tril(a, -1))


def potrf(a, lower=True):
    if not lower:  # of the upper triangle
        return turned(np.linalg.cholesky(symmetric(turned(a))))
    return np.linalg.cholesky(symmetric(a))


def potrf_gradient(heads, a, lower=True):
    """By differences along each symmetric direction."""
    grad = np.zeros_like(a)
    for at in np.ndindex(*a.shape):
        step = np.zeros_like(a)
        step[at] += 5e-6
        step = step + turned(step)
        change = (potrf(a + step, lower) - potrf(a - step, lower)) / 4e-5
        grad[at] = 2 * (change * heads[0]).sum()
    return [grad]


def potri(a, lower=True):
    factor = triangle(a if lower else turned(a), True)
    return np.linalg.inv(factor @ turned(factor))


def gelqf(a):
    q, r = np.linalg.qr(turned(a))
    return turned(q), turned(r)


def syevd(a):
    values, vectors = np.linalg.eigh(symmetric(a))
    rows = turned(vectors)
    most = np.take_along_axis(rows, np.abs(rows).argmax(-1)[..., None], -1)
    return rows * np.sign(most), values


def syevd_gradient(heads, a):
    grad = np.zeros_like(a)
    for at in np.ndindex(*a.shape):
        step = np.zeros_like(a)
        step[at] += 5e-6
        step = step + turned(step)
        for head, up, down in zip(heads, syevd(a + step), syevd(a - step)):
            grad[at] += 2 * ((up - down) / 4e-5 * head).sum()
    return [grad]


def number(a):
    return a if a.ndim else a.reshape(1)


def slogdet(a):
    sign, log = np.linalg.slogdet(a)
    return number(np.asarray(sign)), number(np.asarray(log))


def sumlogdiag(a):
    return number(np.log(np.diagonal(a, axis1=-2, axis2=-1)).sum(-1))


def extractdiag(a, offset=0):
    return np.diagonal(a, offset, -2, -1)


def makediag(a, offset=0):
    size = a.shape[-1] + abs(offset)
    out = np.zeros((*a.shape[:-1], size, size), a.dtype)
    i = np.arange(a.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = a
    return out


def places(size, offset, lower):
    """Indices of a triangle: rows of a lower one, columns of an upper one."""
    rows, cols = np.tril_indices(size, -abs(offset))
    return (rows, cols) if offset < 0 or (offset == 0 and lower) else (cols, rows)


def extracttrian(a, offset=0, lower=True):
    return a[(..., *places(a.shape[-1], offset, lower))]


def maketrian(a, offset=0, lower=True):
    size = int(np.sqrt(2 * a.shape[-1])) + abs(offset)
    out = np.zeros((*a.shape[:-1], size, size), a.dtype)
    out[(..., *places(size, offset, lower))] = a
    return out


def column_signs(a):
    most = np.take_along_axis(a, np.abs(a).argmax(-2)[..., None, :], -2)
    return np.where(most < 0, -1.0, 1.0)


def svd(a):
    u, values, v = np.linalg.svd(a, full_matrices=False)
    signs = column_signs(u)
    return u * signs, values, v * turned(signs)


def real_values(rng, shape):
    """Domain of square matrices with eigenvalues that are real and apart."""
    return np.diag(np.arange(1.0, shape[-1] + 1)) + rng.uniform(-0.1, 0.1, shape)


def eig(a):
    values, vectors = np.linalg.eig(a)
    return values, vectors * column_signs(vectors)


LOOSE = {"float32": (1e-4, 2e-5), "float64": (1e-9, 1e-10)}
LOOSE64 = {"float64": (1e-7, 1e-8)}
# differences are what they are compared with
DIFFERENCES = {"float32": (1e-4, 2e-5), "float64": (1e-6, 1e-7)}
SIDES = [(t, r, low) for t in (False, True) for r in (False, True) for low in (False, True)]

CASES = [
    Case("_linalg_gemm", [(3, 4), (4, 5), (3, 5)], gemm, {"alpha": 0.5, "beta": 2.0}, back=(2,)),
    Case("_linalg_gemm", [(2, 4, 3), (2, 5, 4), (2, 3, 5)], gemm,
         {"transpose_a": True, "transpose_b": True}),
    Case("_linalg_gemm", [(2, 3, 2, 4), (2, 4, 2, 5), (2, 3, 2, 5)], gemm, {"axis": 1}),
    Case("_linalg_gemm2", [(3, 4), (4, 5)], gemm, {"alpha": -1.5}),
    Case("_linalg_gemm2", [(2, 3, 4), (2, 5, 4)], gemm, {"transpose_b": True}),
    Case("_linalg_gemm2", [(4, 2, 3), (4, 2, 5)], gemm, {"transpose_a": True, "axis": 0}),
    *[
        Case(f"_linalg_{reference.__name__}",
             [Input((2, 3, 3), spd), (2, 4, 3) if right else (2, 3, 4)], reference,
             {"transpose": transpose, "rightside": right, "lower": lower, "alpha": 1.5},
             back=(0, 1), tolerance=LOOSE)
        for reference in (trmm, trsm)
        for transpose, right, lower in SIDES
    ],
    Case("_linalg_syrk", [(3, 5)], syrk),
    Case("_linalg_syrk", [(2, 4, 3)], syrk, {"transpose": True, "alpha": 0.5}),
    Case("_linalg_potrf", [Input((4, 4), spd)], potrf, grad=False,
         reference_grad=potrf_gradient, back=(0,), tolerance=DIFFERENCES),
    Case("_linalg_potrf", [Input((2, 2, 3, 3), spd)], potrf, grad=False,
         reference_grad=potrf_gradient, back=(0,), tolerance=DIFFERENCES),
    Case("_linalg_potrf", [Input((2, 3, 3), spd)], potrf, {"lower": False}, grad=False,
         reference_grad=potrf_gradient, back=(0,), tolerance=DIFFERENCES),
    Case("_linalg_potri", [Input((2, 3, 3), spd)], potri, {"lower": False}, back=(0,),
         tolerance=LOOSE),
    Case("_linalg_potri", [Input((4, 4), spd)], potri, back=(0,), tolerance=LOOSE),
    Case("_linalg_potri", [Input((2, 2, 3, 3), spd)], potri, back=(0,), tolerance=LOOSE),
    Case("_linalg_inverse", [Input((4, 4), far_from_singular)], np.linalg.inv, back=(0,),
         tolerance=LOOSE),
    Case("_linalg_inverse", [Input((2, 2, 3, 3), far_from_singular)], np.linalg.inv, back=(0,),
         tolerance=LOOSE),
    Case("_linalg_gelqf", [(3, 5)], gelqf, back=(0,), tolerance=LOOSE),
    Case("_linalg_gelqf", [(2, 3, 3)], gelqf, back=(0,), tolerance=LOOSE),
    Case("_linalg_syevd", [Input((4, 4), spd)], syevd, grad=False, reference_grad=syevd_gradient,
         back=(0,), tolerance=DIFFERENCES),
    Case("_linalg_syevd", [Input((2, 2, 3, 3), spd)], syevd, grad=False,
         reference_grad=syevd_gradient, back=(0,), tolerance=DIFFERENCES),
    Case("_linalg_solve", [Input((4, 4), far_from_singular), (4, 3)], np.linalg.solve,
         back=(0, 1), tolerance=LOOSE),
    Case("_linalg_solve", [Input((2, 2, 3, 3), far_from_singular), (2, 2, 3, 1)], np.linalg.solve,
         back=(0, 1), tolerance=LOOSE),
    *[
        Case("_linalg_svd", [shape], svd, tolerance={"float32": (2e-3, 2e-4), **LOOSE64})
        for shape in ((5, 3), (3, 5), (3, 3), (2, 2, 4, 2))
    ],
    *[
        Case("_linalg_eig", [Input(shape, real_values)], eig, back=(0,),
             tolerance={"float32": (2e-3, 2e-4), **LOOSE64})
        for shape in ((4, 4), (2, 2, 3, 3))
    ],
    *[
        Case(name, [Input(shape, far_from_singular)], reference, tolerance=LOOSE)
        for name, reference in (("_linalg_det", lambda a: number(np.linalg.det(a))),
                                ("_linalg_slogdet", slogdet))
        for shape in ((4, 4), (2, 2, 3, 3), (5, 1, 1))
    ],
    Case("_linalg_sumlogdiag", [Input((4, 4), (0.5, 2))], sumlogdiag),
    Case("_linalg_sumlogdiag", [Input((2, 3, 3), (0.5, 2))], sumlogdiag),
    *[
        Case("_linalg_extractdiag", [(2, 4, 4)], extractdiag, {"offset": k}, exact=True)
        for k in (0, 1, -2)
    ],
    *[
        Case("_linalg_makediag", [(2, 3)], makediag, {"offset": k}, exact=True)
        for k in (0, 1, -2)
    ],
    *[
        Case(f"_linalg_{reference.__name__}", [shape], reference, {"offset": k, "lower": lower},
             exact=True)
        for reference, shape in ((extracttrian, (2, 4, 4)), (maketrian, (2, 6)))
        for k, lower in ((0, True), (0, False), (1, True), (-1, False), (2, True))
    ],
]  # fmt: skip
