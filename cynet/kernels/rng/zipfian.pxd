"""Draws without repetition from a Zipfian distribution (zipfian.h)."""

from libc.stdint cimport int64_t, uint64_t

cdef extern from "rng/zipfian.h" namespace "cynet" nogil:
    # `count` <= range different numbers of [0, range) into out; how many draws that took.
    # table: 2^bits > count entries of memory.
    int64_t unique_zipfian(uint64_t seed, uint64_t stream, int64_t row, int64_t range,
                           int64_t count, int64_t* out, int64_t* table, int bits) noexcept
