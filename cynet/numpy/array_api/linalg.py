"""Linear algebra of the array API, on matrices in the last two axes."""

from collections import namedtuple

import numpy as onp

from ...base.errors import ArgumentTypeError, ShapeError
from .. import linalg, products, shapes
from .._call import array_of
from ..least_squares import as_floats, as_matrices
from . import reductions

EigenResult = namedtuple("EigenResult", "eigenvalues eigenvectors")
QRResult = namedtuple("QRResult", "Q R")
SVDResult = namedtuple("SVDResult", "U S Vh")
SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")


def matmul(x1, x2, /):
    """Products of matrices; a vector is a row on the left and a column on the right."""
    return products.matmul(*shapes.to_common_dtype([x1, x2], "matmul"))


def matrix_transpose(x, /):
    """The matrices with their axes exchanged.

    Raises
    ------
    ShapeError
        There are fewer than two axes.
    """
    if array_of(x, "matrix_transpose").ndim < 2:
        raise ShapeError(f"array_api.matrix_transpose takes two axes at least, got {x.shape}")
    return shapes.matrix_transpose(x)


def tensordot(x1, x2, /, *, axes=2):
    """Sums of products over axes of both arrays."""
    x1, x2 = shapes.to_common_dtype([x1, x2], "tensordot")
    return products.tensordot(x1, x2, axes)


def vecdot(x1, x2, /, *, axis=-1):
    """Sums of products along one axis.

    Raises
    ------
    ShapeError
        The lengths differ.
    """
    x1, x2 = shapes.to_common_dtype([x1, x2], "vecdot")
    if x1.shape[axis] != x2.shape[axis]:
        raise ShapeError(
            f"array_api.vecdot: axis {axis} of {x1.shape} and of {x2.shape} are of two lengths"
        )
    product = x1 * x2
    return reductions.sum(product, axis=axis, dtype=product.dtype)


def cross(x1, x2, /, *, axis=-1):
    """Cross products of vectors of three elements."""
    x1, x2 = shapes.to_common_dtype([x1, x2], "cross")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ShapeError(f"array_api.linalg.cross takes 3 elements: {x1.shape}, {x2.shape}")
    x1, x2 = shapes.moveaxis(x1, axis, -1), shapes.moveaxis(x2, axis, -1)
    a, b = (x1[..., 0], x1[..., 1], x1[..., 2]), (x2[..., 0], x2[..., 1], x2[..., 2])
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return shapes.stack(parts, axis)


def cholesky(x, /, *, upper=False):
    """The triangular factors of positive definite matrices."""
    return linalg.cholesky(x, upper)


def det(x, /):
    """The determinants."""
    return linalg.det(x)


def slogdet(x, /):
    """The signs of the determinants and the logarithms of their absolute values."""
    return SlogdetResult(*linalg.slogdet(x))


def diagonal(x, /, *, offset=0):
    """A diagonal of each matrix."""
    return products.diagonal(x, offset, -2, -1)


def trace(x, /, *, offset=0, dtype=None):
    """Sums of a diagonal of each matrix; integers give int64."""
    return reductions.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def eigh(x, /):
    """The eigenvalues and eigenvectors of symmetric matrices."""
    return EigenResult(*linalg.eigh(x))


def eigvalsh(x, /):
    """The eigenvalues of symmetric matrices."""
    return linalg.eigvalsh(x)


def inv(x, /):
    """The inverses."""
    return linalg.inv(x)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norms of matrices."""
    return linalg.matrix_norm(x, keepdims, ord)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norms of vectors, of all elements where no axis is given."""
    return linalg.vector_norm(x, axis, keepdims, ord)


def matrix_power(x, n, /):
    """The n-th powers of square matrices."""
    return linalg.matrix_power(x, n)


def matrix_rank(x, /, *, rtol=None):
    """The ranks of matrices: the counts of singular values that are not small."""
    return linalg.matrix_rank(x, rcond=rtol)


def outer(x1, x2, /):
    """All products of an element of one vector and an element of the other.

    Raises
    ------
    ShapeError
        An operand is no vector.
    """
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeError(f"array_api.linalg.outer takes vectors, got {x1.shape} and {x2.shape}")
    return x1[:, None] * x2[None, :]


def pinv(x, /, *, rtol=None):
    """The pseudoinverses."""
    x = as_matrices(x, "array_api.linalg.pinv")
    rtol = onp.finfo(x.dtype).eps.item() * max(x.shape[-2:]) if rtol is None else rtol
    return linalg.pinv(x, rtol)


def qr(x, /, *, mode="reduced"):
    """Orthonormal columns and an upper triangle whose product is the matrix.

    Raises
    ------
    ArgumentTypeError
        `mode` is not "reduced" or "complete".
    """
    if mode not in ("reduced", "complete"):
        raise ArgumentTypeError(f"array_api.linalg.qr: mode is reduced or complete, got {mode!r}")
    return QRResult(*linalg.qr(x, mode))


def solve(x1, x2, /):
    """The solutions x of ``x1 x = x2``."""
    x1, x2 = as_matrices(x1, "array_api.linalg.solve"), as_floats(x2, "array_api.linalg.solve")
    columns = shapes.expand_dims(x2, 1) if x2.ndim == 1 else x2
    outer_axes = onp.broadcast_shapes(x1.shape[:-2], columns.shape[:-2])
    out = linalg.solve(
        shapes.broadcast_to(x1, outer_axes + x1.shape[-2:]),
        shapes.broadcast_to(columns, outer_axes + columns.shape[-2:]),
    )
    return shapes.squeeze(out, -1) if x2.ndim == 1 else out


def svd(x, /, *, full_matrices=True):
    """Singular value decompositions: U, the values, V."""
    return SVDResult(*linalg.svd(as_matrices(x, "array_api.linalg.svd"), full_matrices))


def svdvals(x, /):
    """The singular values, descending."""
    return linalg.svdvals(x)


__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eigh",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
