"""The functions of mx.nd.sparse: operators of the registry, and functions of sparse arrays only."""

from __future__ import annotations

import ctypes
from array import array as native_array
from typing import Any

import numpy as np

from ..._core.put_rows import put_rows
from ..._ndarray import NDArrayBase
from ...base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ...base.guard import guarded
from ...context import cpu
from ...operator import get_operator
from ...operator.sparse.names import OPERATORS
from ..functions import function_of, make_getattr
from ..legacy.binary import add, divide, multiply, subtract
from . import arrays, convert, structure
from .through_host import is_on_gpu

CAST_STORAGE = get_operator("cast_storage")  # entry of the registry


@guarded
def cast_storage(
    data: Any = None, stype: Any = None, out: Any = None, name: Any = None, **kwargs: Any
) -> Any:
    """Convert an array to another storage type.

    Parameters
    ----------
    data : NDArray
        The array to convert.
    stype : str
        The new storage type: ``'default'``, ``'csr'`` or ``'row_sparse'``.
    **kwargs
        Not supported: each is refused by its name.

    Returns
    -------
    NDArray, CSRNDArray or RowSparseNDArray
        A copy, also if `data` is stored that way.

    Raises
    ------
    ArgumentTypeError
        If `data` is not an NDArray.
    ArgumentError
        If there is no such storage type, or not of as many axes.

    Examples
    --------
    >>> dense = mx.nd.array([[0, 1, 0], [0, 0, 0], [2, 0, 3]])
    >>> rows = mx.nd.sparse.cast_storage(dense, "row_sparse")
    >>> rows.indices.asnumpy(), rows.data.asnumpy()
    (array([0, 2]), array([[0., 1., 0.],
           [2., 0., 3.]], dtype=float32))
    """
    given = kwargs if stype is None else {"stype": stype, **kwargs}
    wanted = CAST_STORAGE.prop(**given).stype
    array = _check_array("operator cast_storage", data)
    if out is None:
        return arrays.copy_as_stype(array, wanted)
    return arrays.cast_storage(array, wanted).copyto(out)


@guarded
def getnnz(data: Any = None, axis: Any = None, out: Any = None, name: Any = None) -> Any:
    """Count the elements that a csr matrix stores.

    Parameters
    ----------
    data : CSRNDArray
        The matrix.
    axis : int, optional
        0 counts in each column, 1 in each row; by default in the whole matrix.

    Returns
    -------
    NDArray
        int64, of one axis.

    Raises
    ------
    ArgumentError
        If `data` is not a csr matrix, or there is no such axis.

    Examples
    --------
    >>> a = mx.nd.array([[0, 1, 0], [3, 0, 2]]).tostype("csr")
    >>> [mx.nd.contrib.getnnz(a, axis=axis).asnumpy().tolist() for axis in (None, 0, 1)]
    [[3], [1, 1, 1], [1, 2]]
    """
    if not isinstance(data, arrays.CSRNDArray):
        raise ArgumentError(f"getnnz takes a csr matrix, got {shown(type(data).__name__)}")
    if axis not in (None, 0, 1):
        raise ArgumentError(f"getnnz: axis is None, 0 or 1, got {shown(axis)}")
    data.as_canonical()
    if axis is None:
        counts = np.array([len(data._indices)], np.int64)
    elif axis == 0:
        counts = np.bincount(data._indices, minlength=data.shape[1]).astype(np.int64)
    else:
        counts = np.diff(data._indptr)
    result = convert.indices_to_ndarray(counts)
    return result if out is None else result.copyto(out)


@guarded
def edge_id(
    data: Any = None, u: Any = None, v: Any = None, out: Any = None, name: Any = None
) -> Any:
    """Return the values of a csr matrix at coordinates; -1 where it stores none.

    Parameters
    ----------
    data : CSRNDArray
        The matrix.
    u, v : NDArray
        Rows and columns, with one axis and of the same length; this waits for them.

    Returns
    -------
    NDArray
        Of the shape of `u`, of the dtype of `data`.

    Raises
    ------
    ArgumentError
        If `data` is not a csr matrix, or a place is beyond it.
    ShapeError
        If `u` and `v` are not of one axis and length.

    Examples
    --------
    >>> a = mx.nd.sparse.csr_matrix(([5.0, 7.0], [1, 0], [0, 1, 2]), shape=(2, 2))
    >>> mx.nd.contrib.edge_id(a, mx.nd.array([0, 0, 1]), mx.nd.array([0, 1, 0])).asnumpy().tolist()
    [-1.0, 5.0, 7.0]
    """
    if not isinstance(data, arrays.CSRNDArray):
        raise ArgumentError(f"edge_id takes a csr matrix, got {shown(type(data).__name__)}")
    data.as_canonical()
    rows, columns = (_check_array("edge_id", each).asnumpy().astype(np.int64) for each in (u, v))
    if rows.ndim != 1 or rows.shape != columns.shape:
        raise ShapeError(f"edge_id: u and v have one axis, got {rows.shape} and {columns.shape}")
    structure.check_bounds("edge_id: u", rows, data.shape[0])
    structure.check_bounds("edge_id: v", columns, data.shape[1])
    cells = structure.row_major_indices(data._indices, data._indptr, data.shape[1])
    at, there = structure.find_rows(cells, rows * data.shape[1] + columns)
    result = convert.zero_values(data._values_array, rows.shape) - 1
    if there.any():
        found = convert.take_rows(data._values_array, at[there])
        if is_on_gpu(result):
            on_host = result.as_in_context(cpu())
            put_rows(on_host, found.as_in_context(cpu()), np.flatnonzero(there))
            on_host.copyto(result)
        else:
            put_rows(result, found, np.flatnonzero(there))
    return result if out is None else result.copyto(out)


@guarded
def SparseEmbedding(
    data: Any = None,
    weight: Any = None,
    input_dim: Any = None,
    output_dim: Any = None,
    dtype: Any = "float32",
    sparse_grad: bool = True,
    out: Any = None,
    name: Any = None,
    *,
    deterministic: bool = False,
) -> Any:
    """Look up rows of a matrix; MXNet's older name of ``Embedding(sparse_grad=True)``.

    Parameters
    ----------
    data : NDArray
        Indices of rows.
    weight : NDArray or RowSparseNDArray
        The matrix, (input_dim, output_dim).
    input_dim, output_dim : int
        Number and size of the rows.
    dtype : str or numpy.dtype
        Type of the matrix.
    sparse_grad : bool
        Only True; `Embedding` has dense gradients, too.
    deterministic : bool
        Part of MXNet's signature; sums are always in one order.

    Returns
    -------
    NDArray
        Shape (..., output_dim).

    Raises
    ------
    ArgumentError
        If `sparse_grad` is False.

    Examples
    --------
    >>> rows = mx.nd.array([[1, 2], [3, 4], [5, 6]])
    >>> found = mx.nd.contrib.SparseEmbedding(mx.nd.array([2, 0]), rows, input_dim=3, output_dim=2)
    >>> found.asnumpy()
    array([[5., 6.],
           [1., 2.]], dtype=float32)
    """
    check_sparse_grad(sparse_grad)
    sizes = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype}
    return function_of("Embedding")(data, weight, sparse_grad=True, out=out, **sizes)


def check_sparse_grad(sparse_grad):
    """Raise unless `sparse_grad` is true: SparseEmbedding has no dense gradient."""
    if not sparse_grad:
        raise ArgumentError(
            "SparseEmbedding: its gradient is row_sparse; use Embedding for sparse_grad=False"
        )


def _check_array(what, value):
    if not isinstance(value, NDArrayBase):
        raise ArgumentTypeError(f"{what} takes NDArrays, got {shown(value)}")
    return value


adagrad_update = function_of(OPERATORS["adagrad_update"])
retain = gs_retain = function_of(OPERATORS["retain"])
# names of MXNet's module that come from other modules, beside what the package imports
NDArrayHandle = ctypes.c_void_p
py_slice, py_sum = slice, sum  # Python's, under MXNet's names

__getattr__, __dir__ = make_getattr("cynet.ndarray.sparse", "", OPERATORS.__contains__)

__all__ = ["NDArrayHandle", "__dir__", "__getattr__", "adagrad_update", "add", "cast_storage"]
__all__ += ["divide", "gs_retain", "multiply", "native_array", "py_slice", "py_sum", "retain"]
__all__ += ["subtract"]
