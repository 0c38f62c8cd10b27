"""Dropout on the CPU (contract in dropout.pxd, loops in dropout.h)."""

from cython cimport floating
from libc.stdint cimport int64_t, uint64_t
from libcpp cimport bool as cbool

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "elementwise/dropout.h" namespace "cynet" nogil:
    void c_mask "cynet::dropout_mask"(int level, uint64_t seed, uint64_t stream, double p,
                                      cbool* keep, int64_t n, int threads) noexcept
    void c_apply "cynet::dropout_apply"[T](int level, const T* x, const cbool* keep, double p, T* y,
                                           int64_t n, bint add, int threads) noexcept
    void c_forward "cynet::dropout_forward"[T](int level, uint64_t seed, uint64_t stream, double p,
                                               cbool* keep, const T* x, T* y, int64_t n, bint add,
                                               int threads) noexcept
    void c_spread "cynet::dropout_spread"[T](const T* x, const cbool* keep, double p, T* y,
                                             int ndim, const int64_t* shape, const int64_t* stride,
                                             bint add) noexcept
    void c_factors "cynet::dropout_factors"[T](int level, uint64_t seed, uint64_t stream,
                                               int64_t first, double p, T* factor, T* x, int64_t n,
                                               int threads) noexcept

cdef enum:
    COST = 8  # simple operations one random number is worth


cdef void dropout_mask(uint64_t seed, uint64_t stream, double p, cbool* keep,
                       int64_t n) noexcept nogil:
    c_mask(cpu_level(), seed, stream, p, keep, n, threads_for(COST * n))


cdef void dropout_apply(const floating* x, const cbool* keep, double p, floating* y, int64_t n,
                        bint add) noexcept nogil:
    c_apply(cpu_level(), x, keep, p, y, n, add, threads_for(n))


cdef void dropout_forward(uint64_t seed, uint64_t stream, double p, cbool* keep, const floating* x,
                          floating* y, int64_t n, bint add) noexcept nogil:
    c_forward(cpu_level(), seed, stream, p, keep, x, y, n, add, threads_for(COST * n))


cdef void dropout_spread(const floating* x, const cbool* keep, double p, floating* y, int ndim,
                         const int64_t* shape, const int64_t* stride, bint add) noexcept nogil:
    c_spread(x, keep, p, y, ndim, shape, stride, add)


cdef void dropout_factors(uint64_t seed, uint64_t stream, int64_t first, double p, floating* factor,
                          floating* x, int64_t n) noexcept nogil:
    c_factors(cpu_level(), seed, stream, first, p, factor, x, n, threads_for(COST * n))
