"""Evenly spaced values (arange.h)."""

from libc.stdint cimport int64_t

from ..parallel cimport threads_if_awake, threads_for

cdef extern from "movement/arange.h" namespace "cynet" nogil:
    bint write_progression(int threads, int dtype, double start, double step, void* out,
                           int64_t n) noexcept

cdef enum:
    MIN_WAKING_ELEMENTS = 1 << 19  # minimum elements for which a sleeping thread is woken

# out[i] = start + i * step, each operation rounded to the dtype: float32, float64 or int32. False:
# another dtype, nothing is written.
cdef inline bint run_progression(int dtype, double start, double step, void* out,
                                 int64_t n) noexcept nogil:
    return write_progression(threads_for(n) if n >= MIN_WAKING_ELEMENTS else threads_if_awake(n),
                             dtype, start, step, out, n)
