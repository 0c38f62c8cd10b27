"""mx.np.linalg: matrices in the last two axes."""

from ..base.errors import ArgumentTypeError, shown
from . import products, reductions, shapes
from ._call import ops
from .elementwise import FUNCTIONS
from .least_squares import as_floats as _floats
from .least_squares import (
    as_matrices,
    cond,
    lstsq,
    matrix_power,
    matrix_rank,
    multi_dot,
    pinv,
    qr,
    svd,
    svdvals,
    tensorinv,
    tensorsolve,
)
from .products import cross, matmul, outer, tensordot, vecdot
from .shapes import matrix_transpose


def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of vectors or matrices."""
    x = _floats(x, "linalg.norm")
    if axis is None:
        if ord is None:
            out = FUNCTIONS["sqrt"](reductions.sum(x * x))
            return out.reshape((1,) * x.ndim) if keepdims else out
        axis = tuple(range(x.ndim))
    axes = reductions.axes_of(axis, x.ndim, "linalg.norm")
    size = FUNCTIONS["absolute"](x)
    if ord is None or ord == "fro" or (ord == 2 and len(axes) == 1):
        return FUNCTIONS["sqrt"](reductions.sum(x * x, axes, keepdims=keepdims))
    if len(axes) == 1:
        if ord == float("inf"):
            return reductions.max(size, axes, keepdims=keepdims)
        if ord == -float("inf"):
            return reductions.min(size, axes, keepdims=keepdims)
        if ord == 0:
            return reductions.sum((x != 0).astype(x.dtype), axes, keepdims=keepdims)
        if ord == 1:
            return reductions.sum(size, axes, keepdims=keepdims)
        return reductions.sum(size**ord, axes, keepdims=keepdims) ** (1.0 / ord)
    if len(axes) != 2:
        raise ArgumentTypeError(f"mx.np.linalg.norm: axis is one or two axes, got {shown(axis)}")
    return _matrix_norm(x, size, ord, axes, keepdims)


def _matrix_norm(x, size, ord, axes, keepdims):
    pick = {
        1: reductions.max,
        2: reductions.max,
        float("inf"): reductions.max,
        -1: reductions.min,
        -2: reductions.min,
        -float("inf"): reductions.min,
        "nuc": reductions.sum,
    }.get(ord)
    if pick is None:
        raise ArgumentTypeError(f"mx.np.linalg.norm: matrices have no norm {shown(ord)}")
    if ord in (2, -2, "nuc"):
        out = pick(svdvals(shapes.moveaxis(x, axes, (-2, -1))), -1)
        return shapes.expand_dims(out, axes) if keepdims else out
    rows, columns = axes
    over, rest = (rows, columns) if abs(ord) == 1 else (columns, rows)
    out = pick(reductions.sum(size, over, keepdims=True), rest, keepdims=True)
    return out if keepdims else shapes.squeeze(out, axes)


def vector_norm(x, axis=None, keepdims=False, ord=2):
    """The norm of the elements over axes, which are one vector."""
    x = _floats(x, "linalg.vector_norm")
    axes = (
        tuple(range(x.ndim))
        if axis is None
        else reductions.axes_of(axis, x.ndim, "linalg.vector_norm")
    )
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    flat = shapes.transpose(x, (*rest, *axes)) if x.ndim > 1 else x
    count = 1
    for each in axes:
        count *= x.shape[each]
    flat = shapes.reshape_view(flat, (*(x.shape[i] for i in rest), count))
    out = norm(flat, ord, -1)
    return shapes.expand_dims(out, axes) if keepdims else out


def matrix_norm(x, keepdims=False, ord="fro"):
    """The norm of the matrices in the last two axes."""
    return norm(as_matrices(x, "linalg.matrix_norm"), ord, (-2, -1), keepdims)


def diagonal(x, offset=0):
    """A diagonal of the matrices in the last two axes."""
    return products.diagonal(x, offset, -2, -1)


def trace(x, offset=0, dtype=None):
    """The sum of a diagonal of the matrices in the last two axes."""
    return reductions.sum(diagonal(x, offset), -1, dtype)


def inv(a):
    """The inverses of square matrices."""
    return ops._linalg_inverse(_floats(a, "linalg.inv"))


def det(a):
    """The determinants of square matrices."""
    return ops._linalg_det(_floats(a, "linalg.det"))


def slogdet(a):
    """The signs of determinants, and the logarithms of their absolute values."""
    return tuple(ops._linalg_slogdet(_floats(a, "linalg.slogdet")))


def cholesky(a, upper=False):
    """The lower triangular factors of positive definite matrices."""
    out = ops._linalg_potrf(_floats(a, "linalg.cholesky"))
    return shapes.matrix_transpose(out) if upper else out


def eigh(a, UPLO="L"):
    """The eigenvalues and eigenvectors of symmetric matrices."""
    if UPLO not in ("L", "U"):
        raise ArgumentTypeError(f"mx.np.linalg.eigh: UPLO is 'L' or 'U', got {shown(UPLO)}")
    a = _floats(a, "linalg.eigh")
    if UPLO == "U" and a.ndim > 1:  # the operator reads the lower triangle
        a = shapes.matrix_transpose(a)
    vectors, values = ops._linalg_syevd(a)
    return values, shapes.matrix_transpose(vectors)


def eigvalsh(a, UPLO="L"):
    """The eigenvalues of symmetric matrices."""
    return eigh(a, UPLO)[0]


def solve(a, b):
    """The solutions x of ``a x = b``; `b` is a vector or has right sides as columns."""
    a, b = shapes.to_common_dtype([_floats(a, "linalg.solve"), _floats(b, "linalg.solve")], "solve")
    if b.ndim == 1:
        return shapes.squeeze(ops._linalg_solve(a, shapes.expand_dims(b, 1)), 1)
    return ops._linalg_solve(a, b)


def eig(a):
    """The eigenvalues and eigenvectors of square matrices, where they are real."""
    return tuple(ops._linalg_eig(_floats(a, "linalg.eig")))


def eigvals(a):
    """The eigenvalues of square matrices, where they are real."""
    return eig(a)[0]


__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]
