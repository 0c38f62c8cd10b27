"""Evenly spaced values."""

from libc.stdint cimport int64_t

# out[i] = start + i * step, each operation rounded to the dtype: float32, float64 or int32. False:
# another dtype, nothing is written.
cdef bint run_progression(int dtype, double start, double step, void* out, int64_t n) noexcept nogil
