"""mx.np.linalg: matrices in the last two axes."""

import numpy as onp

from ..base.errors import ArgumentTypeError, shown
from . import reductions, shapes
from ._call import array_of, ops
from .dispatch import on_host
from .elementwise import FUNCTIONS


def _floats(a, where):
    a = array_of(a, where)
    return a.astype("float32") if onp.dtype(a.dtype).kind != "f" else a


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
    if len(axes) == 2 and ord in (1, -1, float("inf"), -float("inf")):
        rows, columns = axes
        over, rest = (rows, columns) if abs(ord) == 1 else (columns, rows)
        total = reductions.sum(size, over, keepdims=True)
        pick = reductions.max if ord > 0 else reductions.min
        out = pick(total, rest, keepdims=True)
        return out if keepdims else shapes.squeeze(out, axes)
    return on_host(onp.linalg.norm, (x, ord, axis, keepdims), {})


def inv(a):
    """The inverses of square matrices."""
    return ops._linalg_inverse(_floats(a, "linalg.inv"))


def det(a):
    """The determinants of square matrices."""
    return ops._linalg_det(_floats(a, "linalg.det"))


def slogdet(a):
    """The sign of the determinants, and the logarithm of their size."""
    return tuple(ops._linalg_slogdet(_floats(a, "linalg.slogdet")))


def cholesky(a, upper=False):
    """The lower triangular factors of positive definite matrices."""
    out = ops._linalg_potrf(_floats(a, "linalg.cholesky"))
    return shapes.matrix_transpose(out) if upper else out


def eigh(a, UPLO="L"):
    """The eigenvalues and eigenvectors of symmetric matrices."""
    if UPLO not in ("L", "U"):
        raise ArgumentTypeError(f"mx.np.linalg.eigh: UPLO is 'L' or 'U', got {shown(UPLO)}")
    vectors, values = ops._linalg_syevd(_floats(a, "linalg.eigh"))
    return values, shapes.matrix_transpose(vectors)


def eigvalsh(a, UPLO="L"):
    """The eigenvalues of symmetric matrices."""
    return eigh(a, UPLO)[0]


def solve(a, b):
    """The solutions x of ``a x = b``; `b` is a vector or has right sides as columns."""
    a, b = shapes.common_dtype([_floats(a, "linalg.solve"), _floats(b, "linalg.solve")], "solve")
    if b.ndim == 1:
        return shapes.squeeze(ops._linalg_solve(a, shapes.expand_dims(b, 1)), 1)
    return ops._linalg_solve(a, b)


def svd(a, full_matrices=False, compute_uv=True):
    """Singular value decompositions: U, the values, V; reduced, as MXNet has it.

    Raises
    ------
    ArgumentTypeError
        `full_matrices` of matrices that are not square.
    """
    a = _floats(a, "linalg.svd")
    if full_matrices and a.shape[-1] != a.shape[-2]:
        raise ArgumentTypeError("mx.np.linalg.svd: full_matrices is False alone")
    found = tuple(ops._linalg_svd(a))
    return found if compute_uv else found[1]


def svdvals(x):
    """The singular values, descending."""
    return svd(x)[1]


def eig(a):
    """The eigenvalues and eigenvectors of square matrices, where they are real."""
    return tuple(ops._linalg_eig(_floats(a, "linalg.eig")))


def eigvals(a):
    """The eigenvalues of square matrices, where they are real."""
    return eig(a)[0]


def _host(name):
    host = getattr(onp.linalg, name)

    def function(*args, **kwargs):
        return on_host(host, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.linalg.{name}``, computed by NumPy on the host."
    return function


for _name in (
    "cond", "lstsq", "matrix_power", "matrix_rank", "multi_dot", "pinv", "qr", "tensorinv",
    "tensorsolve",
):  # fmt: skip
    globals()[_name] = _host(_name)
