"""Whether two arrays are equal within tolerances (closeness.h)."""

from libc.stdint cimport int64_t

cdef extern from "reduce/closeness.h" namespace "cynet" nogil:
    bint all_close(int dtype, const void* a, const void* b, int64_t n, double relative,
                   double absolute, bint equal_nan) noexcept
