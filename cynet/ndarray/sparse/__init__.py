"""mx.nd.sparse: csr and row_sparse arrays, how they are made, and the operators that take them."""

from ...base.errors import NotSupportedForSparseNDArray
from ...base.legacy import c_array_buf, check_call, integer_types, mx_real_t, numeric_types
from ...context import Context, current_context
from ..ndarray import NDArray
from .arrays import BaseSparseNDArray, CSRNDArray, RowSparseNDArray
from .creation import array, csr_matrix, empty, row_sparse_array, zeros
from .functions import (
    NDArrayHandle,
    __dir__,
    __getattr__,
    adagrad_update,
    add,
    cast_storage,
    divide,
    gs_retain,
    multiply,
    native_array,
    py_slice,
    py_sum,
    retain,
    subtract,
)

__all__ = [
    "BaseSparseNDArray",
    "CSRNDArray",
    "Context",
    "NDArray",
    "NDArrayHandle",
    "NotSupportedForSparseNDArray",
    "RowSparseNDArray",
    "adagrad_update",
    "add",
    "array",
    "c_array_buf",
    "cast_storage",
    "check_call",
    "csr_matrix",
    "current_context",
    "divide",
    "empty",
    "gs_retain",
    "integer_types",
    "multiply",
    "mx_real_t",
    "native_array",
    "numeric_types",
    "py_slice",
    "py_sum",
    "retain",
    "row_sparse_array",
    "subtract",
    "zeros",
]
