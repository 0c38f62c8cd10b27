"""Operators that are lists of elementwise loops (loops.py defines a loop)."""

from libcpp.vector cimport vector

from .._typedefs cimport TBlob
from ..kernels.elementwise.elementwise cimport Kernel
from ._base cimport Operator

cdef enum:  # bits of a Kernel's `add` (kernels/elementwise/broadcast.h)
    ADDS = 1  # the loop adds to its output
    NUMBER_IS_WIDE = 2  # the scalar is in the type that the loop computes in
    MIXED = 4  # each operand has a dtype of its own

cdef enum Source:  # where a loop's operand comes from
    NUMBER = 0  # the operand is the loop's scalar
    IN_DATA = 1  # the operand is an input
    OUT_DATA = 2  # the operand is an output
    OUT_GRAD = 3  # the operand is the gradient of an output

cdef struct NativeLoop:  # a Loop for native code
    Kernel write
    Kernel add
    int reads      # how many operands
    int source[3]  # list that has each operand: a Source
    int index[3]   # index of each operand in its list
    int target
    bint more      # True: adds to the result of the previous loop
    char number[8]  # bytes of an operand that is a number, in the arrays' dtype

cdef class ElementwiseOperator(Operator):  # base: loops over whole arrays
    # loops of forward over whole arrays of one dtype, whose inputs may broadcast; empty if forward
    # is anything else (arrays of several dtypes)
    cdef vector[NativeLoop] forward_loops
    cdef int work  # estimated number of simple operations an element

    # Set the only loop: F of `reads` arrays, or of an array and a number, which is operand `place`.
    # Left out where the kernel takes arrays of several dtypes.
    cdef int set_loop(self, Kernel write, Kernel add, int reads, int place, const char* number,
                      functor) except -1

cdef class LoopsOperator(ElementwiseOperator):  # runs the loops that hooks list
    cdef int dtype
    cdef bint is_settled  # a loop was replaced for a number that the dtype cannot represent
    cdef vector[NativeLoop] backward_loops

# Find the kernels `write` and `add` of a Loop; return the dtype of their scalar. Raises MissingLoop
# if there is no such functor.
cdef int find_kernels(loop, int dtype, Kernel* write, Kernel* add) except -1
# Write a number, a float or a LargeInt, to `out` as one element of `dtype`.
cdef int store_scalar(object number, int dtype, void* out) except -1
