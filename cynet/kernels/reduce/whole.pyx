"""Questions about all elements of an array (contract in whole.pxd)."""

from libc.stdint cimport int64_t

from ..parallel cimport threads_for


cdef extern from "reduce/whole.h" namespace "cynet" nogil:
    double whole_squares(int threads, int dtype, const void* x, int64_t n) noexcept
    bint is_whole_finite(int threads, int dtype, const void* x, int64_t n) noexcept


cdef double sum_squares(int dtype, const void* x, int64_t n) noexcept nogil:
    return whole_squares(threads_for(n), dtype, x, n)


cdef bint are_all_finite(int dtype, const void* x, int64_t n) noexcept nogil:
    return is_whole_finite(threads_for(n), dtype, x, n)
