"""Arrays for tests: random arrays, simple arrays, matrices with known eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError
from .compare import default_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import DTypeLike, NDArray, NumpyArray, Shape

__all__ = ["assign_each", "assign_each2", "collapse_sum_like", "create_2d_tensor", "create_vector"]
__all__ += ["get_identity_mat", "get_identity_mat_batch", "new_matrix_with_real_eigvals_2d"]
__all__ += ["new_matrix_with_real_eigvals_nd", "new_orthonormal_matrix_2d"]
__all__ += ["new_sym_matrix_with_real_eigvals_2d", "new_sym_matrix_with_real_eigvals_nd"]
__all__ += ["np_reduce", "rand_coord_2d", "random_sample", "random_uniform_arrays"]


def random_uniform_arrays(*shapes: Shape, **kwargs: Any) -> list[NumpyArray]:
    """Draw arrays of uniform values from ``numpy.random``.

    Parameters
    ----------
    *shapes : tuple of int
        Shape of each array.
    **kwargs
        Bounds and type: ``low=0.0``, ``high=1.0``, ``dtype=numpy.float32``.

    Raises
    ------
    ArgumentError
        If there are other keywords.

    Examples
    --------
    >>> a, b = mx.test_utils.random_uniform_arrays((2, 3), (4,), low=-1, dtype="float64")
    >>> a.shape, b.dtype, bool((a >= -1).all())
    ((2, 3), dtype('float64'), True)
    """
    low, high = kwargs.pop("low", 0.0), kwargs.pop("high", 1.0)
    dtype = kwargs.pop("dtype", default_dtype())
    if kwargs:
        raise ArgumentError(f"random_uniform_arrays: unknown arguments {', '.join(kwargs)}")
    return [np.random.uniform(low, high, size=shape).astype(dtype) for shape in shapes]


def random_sample(population: Sequence[Any], k: int) -> list[Any]:
    """Draw elements in random order from ``numpy.random``, each at most once.

    Parameters
    ----------
    population : sequence
        What to draw from.
    k : int
        Number of elements to draw.

    Returns
    -------
    list

    Examples
    --------
    >>> drawn = mx.test_utils.random_sample(range(10), 3)
    >>> len(set(drawn)), set(drawn) <= set(range(10))
    (3, True)
    """
    drawn = list(population)
    np.random.shuffle(drawn)
    return drawn[:k]


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """Draw a random pair (x, y) of whole numbers from ``numpy.random``.

    Parameters
    ----------
    x_low, x_high : int
        The first number is from ``[x_low, x_high)``.
    y_low, y_high : int
        The second number is from ``[y_low, y_high)``.

    Examples
    --------
    >>> x, y = mx.test_utils.rand_coord_2d(0, 4, 10, 20)
    >>> bool(0 <= x < 4), bool(10 <= y < 20)
    (True, True)
    """
    x = np.random.randint(x_low, x_high, dtype=np.int64)
    y = np.random.randint(y_low, y_high, dtype=np.int64)
    return x, y


def create_2d_tensor(rows: int, columns: int, dtype: DTypeLike = np.int64) -> NDArray:
    """Make an array (rows, columns) whose entries are the indices of their rows.

    Parameters
    ----------
    rows, columns : int
        Number of rows and of columns.
    dtype : numpy dtype
        Type of the entries.

    Examples
    --------
    >>> mx.test_utils.create_2d_tensor(2, 3).asnumpy()
    array([[0, 0, 0],
           [1, 1, 1]])
    """
    return nd.array(np.repeat(np.arange(rows), columns).reshape(rows, columns), dtype=dtype)


def create_vector(size: int, dtype: DTypeLike = np.int64) -> NDArray:
    """Make a vector of the integers from 0 to size - 1.

    Parameters
    ----------
    size : int
        Number of entries.
    dtype : numpy dtype
        Type of the entries.

    Examples
    --------
    >>> mx.test_utils.create_vector(4).asnumpy()
    array([0, 1, 2, 3])
    """
    return nd.array(np.arange(size), dtype=dtype)


def get_identity_mat(size: int) -> NDArray:
    """Make the identity matrix (size, size), float32.

    Parameters
    ----------
    size : int
        Number of rows and of columns.

    Examples
    --------
    >>> mx.test_utils.get_identity_mat(2).asnumpy()
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return nd.array(np.identity(size), dtype=np.float32)


def get_identity_mat_batch(size: int) -> NDArray:
    """Make two identity matrices, (2, size, size), float32.

    Parameters
    ----------
    size : int
        Number of rows and of columns.

    Examples
    --------
    >>> mx.test_utils.get_identity_mat_batch(3).shape
    (2, 3, 3)
    """
    return nd.array(np.stack([np.identity(size)] * 2), dtype=np.float32)


def assign_each(the_input: NumpyArray, function: Callable[[Any], Any] | None) -> NumpyArray:
    """Apply a function to each entry of an array; gives a new one.

    Parameters
    ----------
    the_input : numpy.ndarray
        The array.
    function : callable or None
        Takes a number and returns one; None changes nothing.

    Examples
    --------
    >>> mx.test_utils.assign_each(np.array([1.0, 4.0]), lambda x: x ** 2)
    array([ 1., 16.])
    """
    out = np.array(the_input)
    if function is not None:
        for place in np.ndindex(out.shape):
            out[place] = function(the_input[place])
    return out


def assign_each2(
    input1: NumpyArray, input2: NumpyArray, function: Callable[[Any, Any], Any] | None
) -> NumpyArray:
    """Apply a function to each pair of entries of two arrays; gives a new one.

    Parameters
    ----------
    input1, input2 : numpy.ndarray
        Arrays of one shape.
    function : callable or None
        Takes two numbers and returns one; None gives a copy of `input1`.

    Raises
    ------
    ArgumentError
        If the shapes differ.

    Examples
    --------
    >>> mx.test_utils.assign_each2(np.array([1.0, 2.0]), np.array([3.0, 1.0]), max)
    array([3., 2.])
    """
    if input1.shape != input2.shape:
        raise ArgumentError(f"assign_each2: shapes {input1.shape} and {input2.shape} differ")
    out = np.array(input1)
    if function is not None:
        for place in np.ndindex(out.shape):
            out[place] = function(input1[place], input2[place])
    return out


def np_reduce(
    dat: NumpyArray, axis: Any, keepdims: bool, numpy_reduce_func: Callable[..., Any]
) -> NumpyArray:
    """Apply a reduction of NumPy, one axis after another.

    Parameters
    ----------
    dat : numpy.ndarray
        The array to reduce.
    axis : int, list of int or None
        Axes to reduce; None means all.
    keepdims : bool
        Whether to keep the axes, with length 1.
    numpy_reduce_func : callable
        The reduction: ``numpy.sum``, ``numpy.max``, ...

    Examples
    --------
    >>> mx.test_utils.np_reduce(np.ones((2, 3, 4)), [0, 2], True, np.sum)
    array([[[8.],
            [8.],
            [8.]]])
    """
    axes = range(dat.ndim) if axis is None else np.atleast_1d(axis)
    shape = list(dat.shape)
    for each in sorted((int(each) % dat.ndim for each in axes), reverse=True):
        dat = numpy_reduce_func(dat, axis=each)
        shape[each] = 1
    return dat.reshape(shape) if keepdims else dat


def collapse_sum_like(a: NumpyArray, shape: Shape) -> NumpyArray:
    """Sum an array over the axes along which an array of `shape` would be broadcast to it.

    This is the gradient of broadcasting.

    Parameters
    ----------
    a : numpy.ndarray
        The array to sum.
    shape : tuple of int
        The shape to sum it to.

    Raises
    ------
    ArgumentError
        If `shape` does not broadcast to the shape of `a`.

    Examples
    --------
    >>> mx.test_utils.collapse_sum_like(np.ones((2, 3)), (3,))
    array([2., 2., 2.])
    """
    extra = a.ndim - len(shape)
    try:
        fits = extra >= 0 and np.broadcast_shapes(tuple(shape), a.shape) == a.shape
    except ValueError:
        fits = False
    if not fits:
        raise ArgumentError(f"collapse_sum_like: {tuple(shape)} does not broadcast to {a.shape}")
    repeated = [i for i in range(a.ndim) if i < extra or (shape[i - extra] == 1 != a.shape[i])]
    return a.sum(axis=tuple(repeated)).reshape(shape)


def _make_matrix_batch(make, shape):
    """Make a batch of matrices: call `make` with the last length for each index of other axes."""
    out = np.empty(shape)
    for place in np.ndindex(*shape[:-2]):
        out[place] = make(shape[-1])
    return out


def new_orthonormal_matrix_2d(n: int) -> NumpyArray:
    """Draw a random matrix (n, n), float64, with orthonormal rows from ``numpy.random``.

    Parameters
    ----------
    n : int
        Number of rows and of columns.

    Examples
    --------
    >>> q = mx.test_utils.new_orthonormal_matrix_2d(3)
    >>> bool(np.allclose(q @ q.T, np.identity(3)))
    True
    """
    return np.linalg.qr(np.random.normal(size=(n, n)))[0]


def new_matrix_with_real_eigvals_2d(n: int) -> NumpyArray:
    """Draw a random matrix (n, n), float64, with real eigenvalues, most likely not symmetric.

    Parameters
    ----------
    n : int
        Number of rows and of columns.

    Examples
    --------
    >>> found = np.linalg.eigvals(mx.test_utils.new_matrix_with_real_eigvals_2d(3))
    >>> bool(abs(found.imag).max() < 1e-6)
    True
    """
    basis = new_orthonormal_matrix_2d(n) @ np.triu(np.random.uniform(0.5, 1.0, (n, n)))
    return basis @ np.diag(np.random.uniform(-1.0, 1.0, n) * n) @ np.linalg.inv(basis)


def new_sym_matrix_with_real_eigvals_2d(n: int) -> NumpyArray:
    """Draw a random symmetric matrix (n, n), float64.

    Parameters
    ----------
    n : int
        Number of rows and of columns.

    Examples
    --------
    >>> a = mx.test_utils.new_sym_matrix_with_real_eigvals_2d(3)
    >>> bool((a == a.T).all())
    True
    """
    basis = new_orthonormal_matrix_2d(n)
    found = basis @ np.diag(np.random.uniform(-1.0, 1.0, n) * n) @ basis.T
    return (found + found.T) / 2


def new_matrix_with_real_eigvals_nd(shape: Shape) -> NumpyArray:
    """Draw a batch, of this shape, of random float64 matrices with real eigenvalues.

    Parameters
    ----------
    shape : tuple of int
        Shape of the batch; the last two lengths, those of a matrix, are equal.

    Examples
    --------
    >>> mx.test_utils.new_matrix_with_real_eigvals_nd((4, 2, 3, 3)).shape
    (4, 2, 3, 3)
    """
    return _make_matrix_batch(new_matrix_with_real_eigvals_2d, shape)


def new_sym_matrix_with_real_eigvals_nd(shape: Shape) -> NumpyArray:
    """Draw a batch, of this shape, of random symmetric float64 matrices.

    Parameters
    ----------
    shape : tuple of int
        Shape of the batch; the last two lengths, those of a matrix, are equal.

    Examples
    --------
    >>> a = mx.test_utils.new_sym_matrix_with_real_eigvals_nd((4, 3, 3))
    >>> bool((a == a.swapaxes(1, 2)).all())
    True
    """
    return _make_matrix_batch(new_sym_matrix_with_real_eigvals_2d, shape)
