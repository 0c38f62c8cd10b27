"""mx.nd.sparse: csr and row_sparse arrays, how they are made, and the operators that take them."""

from .arrays import BaseSparseNDArray, CSRNDArray, RowSparseNDArray
from .creation import array, csr_matrix, empty, row_sparse_array, zeros
from .functions import (
    __dir__,
    __getattr__,
    adagrad_update,
    add,
    cast_storage,
    divide,
    multiply,
    retain,
    subtract,
)
