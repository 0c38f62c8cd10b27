"""Operators that are lists of elementwise loops (loops.py defines a loop)."""

from libcpp.vector cimport vector

from .._typedefs cimport TBlob
from ..kernels.elementwise.elementwise cimport Kernel
from ._base cimport Operator

cdef enum:  # bits of a Kernel's `add` (kernels/elementwise/broadcast.h)
    ADDS = 1
    NUMBER_IS_WIDE = 2
    MIXED = 4

cdef enum Source:
    NUMBER = 0
    IN_DATA = 1
    OUT_DATA = 2
    OUT_GRAD = 3

cdef struct NativeLoop:
    Kernel write
    Kernel add
    int reads      # how many operands
    int source[3]  # list that holds each operand: a Source
    int index[3]   # index of each operand in its list
    int target
    bint more      # adds to the result of the loop before it
    char number[8]  # an operand that is a number, in the arrays' dtype

cdef class ElementwiseOperator(Operator):
    # forward as loops over whole arrays of one dtype, whose inputs may repeat; empty where forward
    # is something else (an array of another dtype)
    cdef vector[NativeLoop] forward_loops
    cdef int work  # about how many simple operations an element takes

    # The only loop: F of `reads` arrays, or with `place` 0 or 1 of a number and an array. Left out
    # where the kernel takes arrays of several dtypes.
    cdef int set_loop(self, Kernel write, Kernel add, int reads, int place, const char* number,
                      functor) except -1

cdef class LoopsOperator(ElementwiseOperator):
    cdef int dtype
    cdef bint is_settled  # a number that the dtype does not hold decided a loop
    cdef vector[NativeLoop] backward_loops

# The kernels of a Loop: `write` and `add`, and the dtype of their scalar. Raises MissingLoop if
# there is no such functor.
cdef int find_kernels(loop, int dtype, Kernel* write, Kernel* add) except -1
# A number, a float or a LargeInt, as one element of `dtype`.
cdef int put_number(object number, int dtype, void* out) except -1
