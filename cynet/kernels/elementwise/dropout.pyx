"""Dropout inside of a layer (contract in dropout.pxd, loops in dropout.h)."""

from cython cimport floating
from libc.stdint cimport int64_t, uint64_t

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "elementwise/dropout.h" namespace "cynet" nogil:
    void c_factors "cynet::dropout_factors"[T](int level, uint64_t seed, uint64_t stream,
                                               int64_t first, double p, T* factor, T* x, int64_t n,
                                               int threads) noexcept

cdef enum:
    DRAW_COST = 8  # cost of a random number in simple operations


cdef void dropout_factors(uint64_t seed, uint64_t stream, int64_t first, double p, floating* factor,
                          floating* x, int64_t n) noexcept nogil:
    c_factors(cpu_level(), seed, stream, first, p, factor, x, n, threads_for(DRAW_COST * n))
