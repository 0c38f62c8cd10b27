"""Functions that make sparse arrays: csr_matrix, row_sparse_array, array, zeros, empty."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ...base.guard import guarded
from ...base.kinds import is_single_int
from ...context import read_context
from .._call import is_array
from ..creation import array as dense_array
from ..creation import empty as dense_empty
from ..creation import zeros as dense_zeros
from . import arrays, convert, structure

__all__ = ["array", "csr_matrix", "empty", "row_sparse_array", "zeros"]


def _int64_copy(what, values):
    """A copy of indices as a NumPy array of int64."""
    host = values.asnumpy() if is_array(values) else np.asarray(values)
    if host.size == 0:
        return np.zeros(host.shape, np.int64)
    if host.dtype.kind not in "iuf" or (host.dtype.kind == "f" and (host != np.floor(host)).any()):
        raise ArgumentTypeError(f"{what}: expected whole numbers, got {host.dtype} {shown(values)}")
    return np.array(host, np.int64)


def _dense_values(what, values, ctx, dtype):
    context = read_context(ctx)
    if dtype is None:
        dtype = getattr(values, "dtype", None)
        if dtype is not None and np.dtype(dtype).kind not in "fiu":
            dtype = None
    if isinstance(values, arrays.BaseSparseNDArray):
        raise ArgumentTypeError(
            f"{what}: the values are a dense array, got {type(values).__name__}"
        )
    return dense_array(values, context, dtype)


def _checked_shape(what, shape, ndim=None):
    try:
        sizes = tuple(n.__index__() for n in shape)
    except (TypeError, AttributeError):
        raise ArgumentTypeError(f"{what}: a shape is a tuple of ints, got {shown(shape)}") from None
    if not sizes or min(sizes) < 0 or len(sizes) != (ndim or len(sizes)):
        axes = f"{ndim} sizes (of a csr matrix)" if ndim else "sizes"
        raise ShapeError(f"{what}: expected {axes} that are not negative, got {sizes}")
    structure.check_element_count(what, sizes)
    return sizes


def _is_shape(given):
    return all(isinstance(n, (int, np.integer)) for n in given)


@guarded
def csr_matrix(arg1: Any, shape: Any = None, ctx: Any = None, dtype: Any = None) -> Any:
    """A csr matrix.

    Parameters
    ----------
    arg1 : tuple, NDArray, numpy.ndarray or SciPy matrix
        One of: ``(data, indices, indptr)``; ``(data, (row, col))``, elements in any order, of which
        those at one place are summed; ``(M, N)``, a shape, for zeros; a dense array or list of
        lists; a csr matrix; a matrix of SciPy.
    shape : tuple of int, optional
        Shape; by default the smallest that the indices allow.
    ctx : Context, optional
        Device of the result; by default that of an array that is given, otherwise the current
        context.
    dtype : str or numpy.dtype or type, optional
        Element type; by default that of the values, and float32 for a list.

    Returns
    -------
    CSRNDArray

    Raises
    ------
    ArgumentError, ArgumentTypeError, ShapeError
        For what cannot be a csr matrix. Indices are looked at when the matrix is used, or by
        `check_format`.

    Examples
    --------
    >>> mx.nd.sparse.csr_matrix(([5, 7], ([0, 1], [2, 0]))).asnumpy().tolist()
    [[0.0, 0.0, 5.0], [7.0, 0.0, 0.0]]
    """
    if isinstance(arg1, tuple) and len(arg1) == 3:
        return _csr_from_arrays(*arg1, shape, ctx, dtype)
    if isinstance(arg1, tuple) and len(arg1) == 2:
        if _is_shape(arg1):
            if shape is not None and tuple(shape) != tuple(arg1):
                raise ShapeError(f"csr_matrix: shape {shape} and {arg1} are both given")
            return zeros("csr", arg1, ctx, dtype)
        data, coordinates = arg1
        if not isinstance(coordinates, (tuple, list)) or len(coordinates) != 2:
            raise ArgumentTypeError("csr_matrix takes (data, (row, col)), (data, indices, indptr)")
        return _csr_from_coordinates(data, *coordinates, shape, ctx, dtype)
    return _to_sparse_array("csr", arg1, shape, ctx, dtype)


def _csr_from_arrays(data, indices, indptr, shape, ctx, dtype):
    values = _dense_values("csr_matrix", data, ctx, dtype)
    indices, indptr = _int64_copy("indices", indices), _int64_copy("indptr", indptr)
    if values.ndim != 1 or indices.ndim != 1 or indptr.ndim != 1 or not len(indptr):
        raise ShapeError(
            f"csr_matrix: data, indices and indptr have one axis, got {values.shape}, "
            f"{indices.shape} and {indptr.shape}"
        )
    if shape is None:
        if not len(indices):
            raise ArgumentError("csr_matrix: without elements the shape has to be given")
        shape = len(indptr) - 1, int(indices.max()) + 1
    shape = _checked_shape("csr_matrix", shape, 2)
    return arrays.make_sparse("csr", shape, values, indices, indptr, False)


def _csr_from_coordinates(data, rows, columns, shape, ctx, dtype):
    values = _dense_values("csr_matrix", data, ctx, dtype)
    rows, columns = _int64_copy("row", rows), _int64_copy("col", columns)
    if not values.ndim == rows.ndim == columns.ndim == 1 or not (
        len(values) == len(rows) == len(columns)
    ):
        raise ShapeError(
            f"csr_matrix: data, row and col are of one length, got {values.shape}, {rows.shape} "
            f"and {columns.shape}"
        )
    if shape is None:
        if not len(rows):
            raise ArgumentError("csr_matrix: without elements the shape has to be given")
        shape = int(rows.max()) + 1, int(columns.max()) + 1
    shape = _checked_shape("csr_matrix", shape, 2)
    structure.check_bounds("csr_matrix: row", rows, shape[0])
    structure.check_bounds("csr_matrix: col", columns, shape[1])
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    first = np.ones(len(rows), bool)
    first[1:] = (np.diff(rows) != 0) | (np.diff(columns) != 0)
    host = values.asnumpy()[order]
    if not first.all():
        host = np.add.reduceat(host, np.flatnonzero(first))
    if len(rows):
        values = dense_array(host, values.context, values.dtype)
    indptr = structure.indptr_from_rows(rows[first], shape[0])
    return arrays.make_sparse("csr", shape, values, columns[first], indptr)


def _to_sparse_array(stype, given, shape, ctx, dtype):
    """A sparse array made from `given`: a sparse array, SciPy's sparse matrix, or a dense array."""
    what = "csr_matrix" if stype == "csr" else "row_sparse_array"
    if isinstance(given, arrays.BaseSparseNDArray):
        if given.stype != stype:
            raise ArgumentError(
                f"{what}: expected a {stype} array, got {given.stype}: go through 'default'"
            )
        out = given.copy() if dtype is None else given.astype(dtype)
        out = out if ctx is None else out.as_in_context(ctx)
    elif hasattr(given, "tocsr"):
        if stype != "csr":
            raise ArgumentTypeError("row_sparse_array: expected arrays, got a matrix of SciPy")
        matrix = given.tocsr()
        if not matrix.has_canonical_format:
            matrix = matrix.copy() if matrix is given else matrix
            matrix.sum_duplicates()
        out = _csr_from_arrays(matrix.data, matrix.indices, matrix.indptr, matrix.shape, ctx, dtype)
    else:
        if is_array(given):
            dense = given if dtype is None else given.astype(dtype)
            dense = dense if ctx is None else dense.as_in_context(ctx)
        else:
            dense = _dense_values(what, given, ctx, dtype)
        out = arrays.cast_storage(dense, stype)
    if shape is not None and tuple(shape) != out.shape:
        raise ShapeError(f"{what}: the array has shape {out.shape}, not {tuple(shape)}")
    return out


@guarded
def row_sparse_array(arg1: Any, shape: Any = None, ctx: Any = None, dtype: Any = None) -> Any:
    """A row_sparse array.

    Parameters
    ----------
    arg1 : tuple, NDArray or numpy.ndarray
        One of: ``(data, indices)``, rows and their numbers; a shape, for zeros; a dense array; a
        row_sparse array.
    shape : tuple of int, optional
        Shape; by default with as few rows as the indices allow.
    ctx : Context, optional
        Device of the result; by default that of an array that is given, otherwise the current
        context.
    dtype : str or numpy.dtype or type, optional
        Element type; by default that of the values, and float32 for a list.

    Returns
    -------
    RowSparseNDArray

    Raises
    ------
    ArgumentError, ArgumentTypeError, ShapeError
        As `csr_matrix`.

    Examples
    --------
    >>> mx.nd.sparse.row_sparse_array(([[5, 7]], [1]), shape=(3, 2)).asnumpy().tolist()
    [[0.0, 0.0], [5.0, 7.0], [0.0, 0.0]]
    """
    if isinstance(arg1, tuple) and len(arg1) > 1 and _is_shape(arg1):
        if shape is not None and tuple(shape) != tuple(arg1):
            raise ShapeError(f"row_sparse_array: shape {shape} and {arg1} are both given")
        return zeros("row_sparse", arg1, ctx, dtype)
    if not (isinstance(arg1, tuple) and len(arg1) == 2):
        return _to_sparse_array("row_sparse", arg1, shape, ctx, dtype)
    values = _dense_values("row_sparse_array", arg1[0], ctx, dtype)
    indices = _int64_copy("indices", arg1[1])
    if values.ndim < 1 or indices.ndim != 1:
        raise ShapeError(
            f"row_sparse_array: data has rows and indices one axis, got {values.shape} and "
            f"{indices.shape}"
        )
    if shape is None:
        if not len(indices):
            raise ArgumentError("row_sparse_array: without rows the shape has to be given")
        shape = int(indices.max()) + 1, *values.shape[1:]
    shape = _checked_shape("row_sparse_array", shape)
    if shape[1:] != values.shape[1:]:
        raise ShapeError(
            f"row_sparse_array: rows of shape {values.shape[1:]} do not fit into shape {shape}"
        )
    return arrays.make_sparse("row_sparse", shape, values, indices, None, False)


@guarded
def zeros(stype: str, shape: Any, ctx: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """Make an array of zeros of a storage type; a sparse array stores no elements.

    Parameters
    ----------
    stype : str
        Storage type: ``'csr'``, ``'row_sparse'`` or ``'default'``.
    shape : tuple of int
        Shape of the array.
    ctx : Context, optional
        Device of the array; the current context by default.
    dtype : str or numpy.dtype or type, optional
        Element type; float32 by default.
    **kwargs
        Not supported: each is refused by its name.

    Returns
    -------
    CSRNDArray, RowSparseNDArray or NDArray

    Raises
    ------
    ArgumentError, ArgumentTypeError
        If there is no such storage type, or another keyword is given.
    ShapeError
        If `shape` is none, or of a csr matrix not of two axes.

    Examples
    --------
    >>> mx.nd.sparse.zeros("csr", (1000, 1000)).data.shape
    (0,)
    """
    if kwargs:
        raise ArgumentTypeError(f"zeros takes stype, shape, ctx and dtype, got {', '.join(kwargs)}")
    arrays.check_stype(stype)
    if stype == "default":
        return dense_zeros(shape, ctx=ctx, dtype=dtype)
    if is_single_int(shape):
        shape = (shape,)
    sizes = _checked_shape("zeros", shape, 2 if stype == "csr" else None)
    context = read_context(ctx)
    like = dense_zeros((0,), ctx=context, dtype=dtype)
    return convert.sparse_zeros(stype, sizes, like)


@guarded
def empty(stype: str, shape: Any, ctx: Any = None, dtype: Any = None) -> Any:
    """Make `zeros` of a sparse storage type, or an uninitialized dense array for 'default'.

    Parameters
    ----------
    stype : str
        Storage type: ``'csr'``, ``'row_sparse'`` or ``'default'``.
    shape : tuple of int
        Shape of the array.
    ctx : Context, optional
        Device of the array; the current context by default.
    dtype : str or numpy.dtype or type, optional
        Element type; float32 by default.

    Returns
    -------
    CSRNDArray, RowSparseNDArray or NDArray

    Examples
    --------
    >>> mx.nd.sparse.empty("row_sparse", (4, 3)).indices.shape
    (0,)
    """
    arrays.check_stype(stype)
    if stype == "default":
        return dense_empty(shape, ctx, dtype)
    return zeros(stype, shape, ctx, dtype)


@guarded
def array(source_array: Any, ctx: Any = None, dtype: Any = None) -> Any:
    """A copy of a sparse array, or of a matrix of SciPy as a csr matrix.

    Parameters
    ----------
    source_array : CSRNDArray, RowSparseNDArray or SciPy matrix
        The array to copy.
    ctx : Context, optional
        Device of the copy; by default that of the array, and the current context for a SciPy
        matrix.
    dtype : str or numpy.dtype or type, optional
        Element type; by default that of the array.

    Returns
    -------
    CSRNDArray or RowSparseNDArray

    Raises
    ------
    ArgumentError
        For a dense array: its ``tostype`` makes a sparse one.

    Examples
    --------
    >>> import scipy.sparse
    >>> a = mx.nd.sparse.array(scipy.sparse.eye(3, format="csr"))
    >>> a.stype, a.data.asnumpy(), a.indices.asnumpy()
    ('csr', array([1., 1., 1.]), array([0, 1, 2]))
    """
    if isinstance(source_array, arrays.BaseSparseNDArray):
        return _to_sparse_array(source_array.stype, source_array, None, ctx, dtype)
    if hasattr(source_array, "tocsr"):
        return _to_sparse_array("csr", source_array, None, ctx, dtype)
    raise ArgumentError(
        f"sparse.array takes sparse arrays and SciPy matrices, got {type(source_array).__name__}; "
        "mx.nd.array(...).tostype('csr') makes a csr matrix"
    )
