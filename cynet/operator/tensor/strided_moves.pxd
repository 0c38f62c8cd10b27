"""Operators that only move elements: pieces of inputs that become pieces of outputs."""

from libc.stdint cimport int64_t

from ...kernels.reduce.reduce cimport ReduceLoop, ReduceSpace
from ...kernels.movement.strided cimport StridedSpace
from .._base cimport Operator

cdef struct StridedMove:  # one copy between views
    # output[to + i . dst_stride] = input[source + i . src_stride] for all i of the space
    int source_index
    int target_index
    int64_t source_offset
    int64_t target_offset
    StridedSpace forward
    StridedSpace backward  # `forward` with source and target exchanged
    StridedSpace unfill    # the target alone: to subtract the constant `fill` again
    bint folds             # the input repeats: its gradient is a sum over the repeated axes
    ReduceSpace fold

cdef class StridedCopyOperator(Operator):
    cdef StridedMove* pieces
    cdef int n_pieces
    cdef int dtype
    cdef ReduceLoop sum
    cdef bint fills_output         # the pieces leave gaps in the output, which hold `fill`
    cdef char fill[8]
    # inputs with elements outside of all pieces: their gradient there is zero
    cdef readonly tuple uncovered
    cdef bint misses[64]
    # the operator's arguments (dtype, pieces, fill), from which its GPU form is built
    cdef readonly tuple described
