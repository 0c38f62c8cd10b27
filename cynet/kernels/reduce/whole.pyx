"""Reductions of all elements of an array (contract in whole.pxd)."""

from libc.stdint cimport int64_t

from ..parallel cimport threads_for


cdef extern from "reduce/whole.h" namespace "cynet" nogil:
    double sum_squares_of_array(int threads, int dtype, const void* x, int64_t n) noexcept
    bint is_array_finite(int threads, int dtype, const void* x, int64_t n) noexcept


cdef double sum_squares(int dtype, const void* x, int64_t n) noexcept nogil:
    return sum_squares_of_array(threads_for(n), dtype, x, n)


cdef bint are_all_finite(int dtype, const void* x, int64_t n) noexcept nogil:
    return is_array_finite(threads_for(n), dtype, x, n)
