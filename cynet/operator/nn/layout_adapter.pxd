"""An operator on (N, C, *size) for arrays whose channels are the last axis."""

from .._base cimport Operator, OpContext

cdef class LayoutAdapter(Operator):  # runs an operator on arrays of another layout
    cdef readonly Operator inner
    # Operators that copy the caller's array into `inner`'s layout, and in backward back; None:
    # `inner` takes the array itself.
    cdef Operator data, weight, out
    # Temporary memory for nbytes, 64-byte aligned, that `inner` does not use.
    cdef char* workspace(self, OpContext* ctx, size_t nbytes) except NULL nogil  # temporary memory
