"""Reductions of all elements of an array of float32, float64 or float16."""

from libc.stdint cimport int64_t

# The sum of squares, in blocks that do not depend on the number of threads.
cdef double sum_squares(int dtype, const void* x, int64_t n) noexcept nogil
cdef bint are_all_finite(int dtype, const void* x, int64_t n) noexcept nogil
