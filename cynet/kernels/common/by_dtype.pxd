"""Loops for a dtype known at run time."""

from libc.stdint cimport int64_t

cdef extern from "common/by_dtype.h" namespace "cynet" nogil:
    # to[i] += from_[i]; integers wrap
    void add_elements(int dtype, const void* from_, void* to, int64_t n) noexcept
