"""Functions of mx.np.linalg by QR and singular value decompositions, with gradients."""

import itertools
import math

import numpy as onp

from ..base.errors import ArgumentTypeError, ShapeError, shown
from . import reductions, shapes
from ._call import NUMBERS, array_of, fill_out, is_traced, ops, refuse_traced, with_aliases
from .products import matmul
from .selection import where


def as_floats(a, where_):
    """Convert an operand to a float array; integers and bools become float32."""
    a = array_of(a, where_)
    return a.astype("float32") if onp.dtype(a.dtype).kind in "biu" else a


def as_matrices(a, where_):
    """Convert an operand to a float array; raise unless it has at least two axes."""
    a = as_floats(a, where_)
    if a.ndim < 2:
        raise ShapeError(f"mx.np.{where_} takes an array of two axes at least, got {a.shape}")
    return a


def qr(a, mode="reduced"):
    """The QR factors of matrices: orthonormal columns, and an upper triangle.

    With 'complete' the former is square; no gradient flows through the columns that this adds.

    Raises
    ------
    ArgumentTypeError
        `mode` is none of 'reduced', 'complete' and 'r'.
    """
    a = as_matrices(a, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentTypeError(
            f"mx.np.linalg.qr: mode is 'reduced', 'complete' or 'r', got {shown(mode)}"
        )
    rows, columns = a.shape[-2:]
    square = a if rows >= columns else a[..., :rows]
    q, lower = ops._linalg_gelqf(shapes.matrix_transpose(square))
    q = shapes.matrix_transpose(q)
    if rows >= columns:
        r = shapes.matrix_transpose(lower)
    else:
        rest = matmul(shapes.matrix_transpose(q), a[..., rows:])
        r = shapes.concatenate([shapes.matrix_transpose(lower), rest], -1)
    if mode == "complete" and rows > columns:
        below = ops.BlockGrad(r[..., :1, :] * 0)
        below = shapes.broadcast_to(below, (*r.shape[:-2], rows - columns, columns))
        return _extend_to_full_basis(q), shapes.concatenate([r, below], -2)
    return r if mode == "r" else (q, r)


def _extend_to_full_basis(q):
    """Extend orthonormal columns to square orthogonal matrices."""
    rows, columns = q.shape[-2:]
    if rows == columns:
        return q
    fixed = ops.BlockGrad(q)
    eye = array_of(onp.eye(rows, dtype=onp.dtype(q.dtype)), "linalg")
    rest = eye - matmul(fixed, shapes.matrix_transpose(fixed))
    from . import linalg

    return shapes.concatenate([q, ops.BlockGrad(linalg.eigh(rest)[1][..., columns:])], -1)


def svd(a, full_matrices=False, compute_uv=True):
    """Singular value decompositions: U, the values, V; reduced, as MXNet has it.

    With `full_matrices` U and V are square; no gradient flows through the columns of U and the rows
    of V that this adds.
    """
    a = as_matrices(a, "linalg.svd")
    u, values, v = ops._linalg_svd(a)
    if not compute_uv:
        return values
    if full_matrices:
        u, v = (
            _extend_to_full_basis(u),
            shapes.matrix_transpose(_extend_to_full_basis(shapes.matrix_transpose(v))),
        )
    return u, values, v


def svdvals(x):
    """The singular values of matrices, in descending order."""
    return svd(x)[1]


def _singular_cutoff(values, rcond, shape):
    """The size up to which a singular value counts as 0."""
    if rcond is None:
        rcond = onp.finfo(values.dtype).eps * max(shape[-2:])
    if not isinstance(rcond, NUMBERS):
        rcond = shapes.expand_dims(as_floats(rcond, "linalg"), -1)
    return reductions.max(values, -1, keepdims=True) * rcond


def _pinv_by_svd(a, rcond):
    u, values, v = svd(a)
    nonzero = values > _singular_cutoff(values, rcond, a.shape)
    inverse = where(nonzero, 1.0 / where(nonzero, values, 1.0), 0.0)
    wide = shapes.matrix_transpose(v) * shapes.expand_dims(inverse, -2)
    return matmul(wide, shapes.matrix_transpose(u))


def pinv(a, rcond=1e-15, hermitian=False):
    """The Moore-Penrose pseudo-inverses of matrices.

    Singular values up to `rcond` times the largest one count as 0, by default 1e-15 times it. The
    gradient is that of matrices whose rank is full.
    """
    a = as_matrices(a, "linalg.pinv")
    rcond = 1e-15 if rcond is None else rcond
    if 0 in a.shape:
        return shapes.matrix_transpose(a).copy()
    if is_traced(a):  # the rank is not known
        return _pinv_by_svd(a, rcond)
    rank = matrix_rank(a, rcond=rcond)
    if int(reductions.min(rank).item()) < min(a.shape[-2:]):
        return _pinv_by_svd(a, rcond)
    if a.shape[-2] < a.shape[-1]:
        return shapes.matrix_transpose(pinv(shapes.matrix_transpose(a), rcond))
    q, r = qr(a)
    return ops._linalg_solve(r, shapes.matrix_transpose(q))


@with_aliases(A="M")
def matrix_rank(M, tol=None, hermitian=False, rcond=None):
    """Return how many singular values of each matrix are above `tol`; int64."""
    M = as_floats(M, "linalg.matrix_rank")
    if M.ndim < 2:
        return array_of(onp.asarray(int(bool((M != 0).any())), "int64"), "linalg.matrix_rank")
    values = svdvals(M)
    if tol is None:
        cutoff = _singular_cutoff(values, rcond, M.shape)
    else:
        cutoff = tol if isinstance(tol, NUMBERS) else shapes.expand_dims(tol, -1)
    return reductions.sum(values > cutoff, -1)


def least_squares(a, b, rcond):
    """The least squares solutions of ``a x = b``, the matrix `b`."""
    return matmul(pinv(a, rcond), b)


def lstsq(a, b, rcond="warn"):
    """The least squares solutions x of ``a x = b``, sums of squares, rank and singular values.

    Raises
    ------
    ArgumentTypeError
        A graph is made: there are no sums of squares where the rank is not full.
    """
    a, b = shapes.to_common_dtype([as_floats(x, "linalg.lstsq") for x in (a, b)], "lstsq")
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise ShapeError(
            f"mx.np.linalg.lstsq takes a matrix and as many right sides as it has rows, got shapes "
            f"{a.shape} and {b.shape}"
        )
    refuse_traced("linalg.lstsq", "the shape of the residuals (pinv(a) @ b is x)", a, b)
    rows, columns = a.shape
    if rcond in ("warn", -1) or rcond is None:
        rcond = onp.finfo(a.dtype).eps * (1 if rcond == -1 else max(rows, columns))
    values = svdvals(a)
    rank = int((values > _singular_cutoff(values, rcond, a.shape)).sum().item())
    side = shapes.expand_dims(b, 1) if b.ndim == 1 else b
    found = least_squares(a, side, rcond)
    if rank == columns and rows > columns:
        away = side - matmul(a, found)
        left = reductions.sum(away * away, 0)
    else:
        left = array_of(onp.zeros(0, a.dtype), "linalg.lstsq")
    found = shapes.squeeze(found, 1) if b.ndim == 1 else found
    return found, left, rank, values


def cond(x, p=None):
    """The condition numbers: the norm of a matrix times the norm of its inverse."""
    from . import linalg

    x = as_matrices(x, "linalg.cond")
    if p in (None, 2, -2):
        values = svdvals(x)
        maximum, least = values[..., 0], values[..., -1]
        return least / maximum if p == -2 else maximum / least
    axes = (-2, -1)
    return linalg.norm(x, p, axes) * linalg.norm(linalg.inv(x), p, axes)


def matrix_power(a, n):
    """Powers of square matrices; a negative number gives powers of the inverses."""
    from . import linalg

    a = array_of(a, "linalg.matrix_power")
    if not hasattr(n, "__index__"):
        raise ArgumentTypeError(
            f"mx.np.linalg.matrix_power: the exponent is an int, got {shown(n)}"
        )
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ShapeError(f"mx.np.linalg.matrix_power takes square matrices, got shape {a.shape}")
    n = n.__index__()
    if n < 0:
        a, n = linalg.inv(a), -n
    if n == 0:
        eye = array_of(onp.eye(a.shape[-1], dtype=a.dtype), "linalg.matrix_power")
        return shapes.broadcast_to(eye, a.shape)
    found = None
    while n:
        if n & 1:
            found = a if found is None else matmul(found, a)
        n >>= 1
        a = matmul(a, a) if n else a
    return found


def multi_dot(arrays, out=None):
    """The product of several matrices, in the order that costs least."""
    arrays = [array_of(each, "linalg.multi_dot") for each in arrays]
    if len(arrays) < 2:
        raise ArgumentTypeError("mx.np.linalg.multi_dot takes two arrays at least")
    first, last = arrays[0].ndim == 1, arrays[-1].ndim == 1
    arrays[0], arrays[-1] = (
        shapes.expand_dims(arrays[0], 0) if first else arrays[0],
        shapes.expand_dims(arrays[-1], 1) if last else arrays[-1],
    )
    if any(each.ndim != 2 for each in arrays):
        raise ShapeError(
            f"mx.np.linalg.multi_dot takes matrices, got shapes {[each.shape for each in arrays]}"
        )
    while len(arrays) > 1:  # the cheapest product first
        costs = [math.prod(a.shape) * b.shape[1] for a, b in itertools.pairwise(arrays)]
        at = costs.index(min(costs))
        arrays[at : at + 2] = [matmul(arrays[at], arrays[at + 1])]
    found = arrays[0]
    gone = tuple(axis for axis, is_vector in ((0, first), (1, last)) if is_vector)
    found = shapes.squeeze(found, gone) if gone else found
    return fill_out(found, out)


def tensorinv(a, ind=2):
    """The inverse of an array as a map from its last axes to its first `ind`."""
    from . import linalg

    a = as_floats(a, "linalg.tensorinv")
    front, back = a.shape[:ind], a.shape[ind:]
    n = math.prod(front)
    if not ind > 0 or n != math.prod(back):
        raise ShapeError(f"mx.np.linalg.tensorinv: shape {a.shape} is not square at axis {ind}")
    return linalg.inv(shapes.reshape_view(a, (n, n))).reshape(back + front)


def tensorsolve(a, b, axes=None):
    """The solution x of ``tensordot(a, x, x.ndim) = b``."""
    from . import linalg

    a, b = as_floats(a, "linalg.tensorsolve"), as_floats(b, "linalg.tensorsolve")
    if axes is not None:
        moved = reductions.axes_of(tuple(axes), a.ndim, "linalg.tensorsolve")
        order = [i for i in range(a.ndim) if i not in moved] + list(moved)
        a = shapes.transpose(a, order)
    back = a.shape[b.ndim :]
    n = math.prod(back)
    if n * n != a.size or b.size != n:
        raise ShapeError(
            f"mx.np.linalg.tensorsolve: shapes {a.shape} and {b.shape} are no square system"
        )
    return linalg.solve(shapes.reshape_view(a, (n, n)), shapes.ravel(b)).reshape(back)
