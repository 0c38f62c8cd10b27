"""MatrixOperator: an operator of kernels/linalg on a stack of matrices."""

from libc.stdint cimport int64_t

from .._base cimport Operator
from ...kernels.linalg.linalg cimport Stack

cdef class MatrixOperator(Operator):  # runs an operation on a batch of matrices
    cdef Stack stack
    cdef int dtype
    cdef int64_t batch, work  # work: estimated number of multiplications for one matrix
    cdef readonly str name
