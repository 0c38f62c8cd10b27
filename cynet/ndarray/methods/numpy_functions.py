"""Functions that mx.nd takes from mx.np: quantile, diff, bincount, linalg.norm, ..."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentTypeError
from ...base.guard import guarded
from ..ndarray import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...typing import Number


def _check_array(value, name):
    if isinstance(value, NDArray):
        if value.stype != "default":
            raise ArgumentTypeError(f"{name}: expected a dense array, got {value.stype}")
        return value.as_np_ndarray()
    raise ArgumentTypeError(f"{name} takes NDArrays, got {type(value).__name__}")


def _as_nd_arrays(value):
    """A result of mx.np as arrays of mx.nd; results without axes get shape (1,)."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_as_nd_arrays, value))
    if not isinstance(value, NDArray):
        return value
    return (value if value.ndim else value.reshape((1,))).as_nd_ndarray()


def apply_numpy_function(name, *arrays, **params):
    """The result of a function of mx.np for arrays of mx.nd, as such arrays."""
    from ... import numpy as face  # imported late: mx.np imports mx.nd

    function = face
    for part in name.split("."):
        function = getattr(function, part)
    return _as_nd_arrays(function(*(_check_array(each, name) for each in arrays), **params))


@guarded
def tril(m: NDArray, k: int = 0) -> NDArray:
    """The elements at and below a diagonal of the last two axes, zeros above.

    Parameters
    ----------
    m : NDArray
        Of two axes or more.
    k : int
        Number of the diagonal.

    Examples
    --------
    >>> mx.nd.tril(mx.nd.ones((2, 2)))
    [[1. 0.]
     [1. 1.]]
    <NDArray 2x2 @cpu(0)>
    """
    return apply_numpy_function("tril", m, k=k)


@guarded
def triu(m: NDArray, k: int = 0) -> NDArray:
    """The elements at and above a diagonal of the last two axes, zeros below.

    Parameters
    ----------
    m : NDArray
        Of two axes or more.
    k : int
        Number of the diagonal.

    Examples
    --------
    >>> mx.nd.triu(mx.nd.ones((2, 2)), 1)
    [[0. 1.]
     [0. 0.]]
    <NDArray 2x2 @cpu(0)>
    """
    return apply_numpy_function("triu", m, k=k)


@guarded
def unique(
    ar: NDArray,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """The different values, sorted.

    Parameters
    ----------
    ar : NDArray
        The array.
    return_index, return_inverse, return_counts : bool
        Also return the first index of each value, the number of the value of each element, and how
        often each value occurs, int64.

    Returns
    -------
    NDArray, or tuple of NDArray

    Examples
    --------
    >>> mx.nd.unique(mx.nd.array([3, 1, 3]))
    [1. 3.]
    <NDArray 2 @cpu(0)>
    """
    _check_array(ar, "unique")
    return ar.unique(return_index, return_inverse, return_counts)


@guarded
def nonzero(a: NDArray) -> tuple[NDArray, ...]:
    """The indices of elements that are not zero: an int64 array for each axis, row by row.

    Parameters
    ----------
    a : NDArray
        The array.

    Examples
    --------
    >>> [i.tolist() for i in mx.nd.nonzero(mx.nd.array([[0, 1], [2, 0]]))]
    [[0, 1], [1, 0]]
    """
    return apply_numpy_function("nonzero", a)


@guarded
def quantile(
    a: NDArray,
    q: float | Sequence[float],
    axis: int | Sequence[int] | None = None,
    method: str = "linear",
    keepdims: bool = False,
) -> NDArray:
    """The quantiles over axes: a share `q` of the elements is at most the value.

    Parameters
    ----------
    a : NDArray
        The array; integers give float32.
    q : float or list of float
        Shares within 0 and 1; several make the first axis of the result.
    axis : int or tuple of int, optional
        Axes to reduce; all by default.
    method : str
        What is taken between two elements: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'.
    keepdims : bool
        Keep the axes, with length 1.

    Raises
    ------
    ArgumentError, ArgumentTypeError
        A share is not within 0 and 1, or there is no such method.

    Examples
    --------
    >>> mx.nd.quantile(mx.nd.array([1, 2, 3, 10]), [0.5, 1]).tolist()
    [2.5, 10.0]
    """
    return apply_numpy_function("quantile", a, q=q, axis=axis, method=method, keepdims=keepdims)


@guarded
def diff(
    a: NDArray,
    n: int = 1,
    axis: int = -1,
    prepend: NDArray | None = None,
    append: NDArray | None = None,
) -> NDArray:
    """Differences of neighbours along an axis.

    Parameters
    ----------
    a : NDArray
        The array.
    n : int
        How often differences are taken.
    axis : int
        Along which neighbours stand.
    prepend, append : NDArray, optional
        What stands before and after the array along the axis.

    Examples
    --------
    >>> mx.nd.diff(mx.nd.array([1, 2, 4, 8])).tolist()
    [1.0, 2.0, 4.0]
    """
    ends = {"prepend": prepend, "append": append}
    ends = {k: _check_array(v, f"diff: {k}") for k, v in ends.items() if v is not None}
    return apply_numpy_function("diff", a, n=n, axis=axis, **ends)


@guarded
def bincount(x: NDArray, weights: NDArray | None = None, minlength: int = 0) -> NDArray:
    """Return how often each whole number occurs, or the sums of the weights beside it.

    Parameters
    ----------
    x : NDArray
        Whole numbers that are not negative, of one axis.
    weights : NDArray, optional
        A weight of each; gradients go to them.
    minlength : int
        Least length of the result.

    Returns
    -------
    NDArray
        int64, or of the weights' dtype.

    Raises
    ------
    ArgumentError, ArgumentTypeError, ShapeError
        A number is negative or not whole, or there is more than one axis.

    Examples
    --------
    >>> mx.nd.bincount(mx.nd.array([0, 2, 2])).tolist()
    [1, 0, 2]
    """
    given = {} if weights is None else {"weights": _check_array(weights, "bincount: weights")}
    return apply_numpy_function("bincount", x, minlength=minlength, **given)


@guarded
def meshgrid(*xi: NDArray, indexing: str = "xy", sparse: bool = False) -> list[NDArray]:
    """The coordinates of a grid: each vector, repeated along the axes of the others.

    Parameters
    ----------
    *xi : NDArray
        The vectors.
    indexing : str
        'xy' exchanges the first two axes, 'ij' does not.
    sparse : bool
        Leave axes along which a result repeats at length 1.

    Examples
    --------
    >>> [each.tolist() for each in mx.nd.meshgrid(mx.nd.array([1, 2]), mx.nd.array([5]))]
    [[[1.0, 2.0]], [[5.0, 5.0]]]
    """
    return apply_numpy_function("meshgrid", *xi, indexing=indexing, sparse=sparse)


def norm(
    x: NDArray,
    ord: Number | str | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> NDArray:
    """The norm of vectors or matrices.

    Parameters
    ----------
    x : NDArray
        The array.
    ord : number or str, optional
        Which norm, as ``numpy.linalg.norm`` has it: 1, 2, inf, 'fro', 'nuc' and so on.
    axis : int or tuple of int, optional
        The axis of the vectors or the two axes of the matrices; by default all are one.
    keepdims : bool
        Keep the axes, with length 1.

    Raises
    ------
    ArgumentTypeError
        There is no such norm.

    Examples
    --------
    >>> mx.nd.linalg.norm(mx.nd.array([3, 4])).tolist()
    [5.0]
    """
    return apply_numpy_function("linalg.norm", x, ord=ord, axis=axis, keepdims=keepdims)


def inv(a: NDArray) -> NDArray:
    """The inverses of square matrices.

    Parameters
    ----------
    a : NDArray
        Matrices in the last two axes.

    Examples
    --------
    >>> mx.nd.linalg.inv(mx.nd.array([[2, 0], [0, 4]])).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    return apply_numpy_function("linalg.inv", a)


def qr(a: NDArray, mode: str = "reduced") -> Any:
    """The QR factors of matrices: orthonormal columns, and an upper triangle.

    Parameters
    ----------
    a : NDArray
        Matrices in the last two axes.
    mode : str
        'reduced', or 'r' for the triangular ones alone.

    Returns
    -------
    tuple of NDArray
        The two factors.

    Raises
    ------
    ArgumentTypeError
        There is no such mode.

    Examples
    --------
    >>> q, r = mx.nd.linalg.qr(mx.nd.array([[0, 2], [3, 0]]))
    >>> (q @ r).tolist()
    [[0.0, 2.0], [3.0, 0.0]]
    """
    return apply_numpy_function("linalg.qr", a, mode=mode)


def lstsq(a: NDArray, b: NDArray, rcond: float | None = None) -> tuple[Any, ...]:
    """The least squares solutions of ``a x = b``.

    Parameters
    ----------
    a : NDArray
        A matrix.
    b : NDArray
        A right side, or several as columns.
    rcond : float, optional
        Singular values up to this share of the largest one count as 0; by default the precision of
        the dtype times the larger length of `a`.

    Returns
    -------
    tuple
        The solutions, the sums of squares that are left, the rank of `a`, its singular values.

    Raises
    ------
    ShapeError
        The shapes do not fit.

    Examples
    --------
    >>> a, b = mx.nd.array([[1, 0], [0, 2], [0, 0]]), mx.nd.array([1, 4, 3])
    >>> x, left, rank, values = mx.nd.linalg.lstsq(a, b)
    >>> x.tolist(), left.tolist(), rank
    ([1.0, 2.0], [9.0], 2)
    """
    return apply_numpy_function("linalg.lstsq", a, b, rcond=rcond)


def eigh(a: NDArray, UPLO: str = "L") -> Any:
    """Eigenvalues, in rising order, and eigenvectors of symmetric matrices.

    `linalg.syevd` has them in MXNet's order, vectors first and as rows.

    Parameters
    ----------
    a : NDArray
        Matrices in the last two axes.
    UPLO : str
        Which triangle is read, ``'L'`` or ``'U'``.

    Returns
    -------
    tuple of NDArray
        The values, and the vectors as columns.

    Raises
    ------
    ArgumentTypeError
        `UPLO` is neither.

    Examples
    --------
    >>> values, vectors = mx.nd.linalg.eigh(mx.nd.array([[2, 1], [1, 2]]))
    >>> values.tolist()
    [1.0, 3.0]
    """
    return apply_numpy_function("linalg.eigh", a, UPLO=UPLO)


def pinv(a: NDArray) -> NDArray:
    """The pseudoinverses of matrices, which need not be square or of full rank.

    Parameters
    ----------
    a : NDArray
        Matrices in the last two axes.

    Examples
    --------
    >>> mx.nd.linalg.pinv(mx.nd.array([[2, 0], [0, 0]])).tolist()
    [[0.5, 0.0], [0.0, 0.0]]
    """
    return apply_numpy_function("linalg.pinv", a)
