"""Evenly spaced values (contract in arange.pxd)."""

from libc.stdint cimport int64_t

from ..parallel cimport threads_awake, threads_for

cdef extern from "movement/arange.h" namespace "cynet" nogil:
    bint progression_all(int threads, int dtype, double start, double step, void* out,
                         int64_t n) noexcept

cdef enum:
    WAKING = 1 << 19  # elements that are worth waking a thread


cdef bint run_progression(int dtype, double start, double step, void* out,
                          int64_t n) noexcept nogil:
    cdef int threads = threads_for(n) if n >= WAKING else threads_awake(n)
    return progression_all(threads, dtype, start, step, out, n)
