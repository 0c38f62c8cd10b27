"""Channels-last loops over the threads of parallel.pxd (contract in channels_last.pxd)."""

from libc.stdint cimport int64_t

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "normalization/channels_last.h" namespace "cynet" nogil:
    void c_statistics "cynet::norm_statistics"(int level, const NormShape* s, const float* x,
                                               int threads, double* space) noexcept
    void c_apply "cynet::norm_apply"(int level, const NormShape* s, const float* x,
                                     const float* scale, const float* shift,
                                     const float* residual, float* y, bint add,
                                     int threads) noexcept
    void c_backward "cynet::norm_backward"(int level, const NormShape* s, const NormGradient* g,
                                           int threads, double* space) noexcept
    void c_pool "cynet::window_pool"(int level, const PoolWindow* s, const float* x, float* y,
                                     bint add, int threads) noexcept
    void c_unpool "cynet::window_unpool"(int level, const PoolWindow* s, const float* dy,
                                         const float* x, float* dx, bint add,
                                         int threads) noexcept


cdef void norm_statistics(const NormShape* s, const float* x, double* space) noexcept nogil:
    c_statistics(cpu_level(), s, x, threads_for(s.rows * s.channels), space)


cdef void norm_apply(const NormShape* s, const float* x, const float* scale, const float* shift,
                     const float* residual, float* y, bint add) noexcept nogil:
    c_apply(cpu_level(), s, x, scale, shift, residual, y, add, threads_for(s.rows * s.channels))


cdef void norm_backward(const NormShape* s, const NormGradient* g, double* space) noexcept nogil:
    c_backward(cpu_level(), s, g, threads_for(s.rows * s.channels), space)


cdef int64_t _work(const PoolWindow* s) noexcept nogil:
    return s.batch * s.channels * s.out_size[0] * s.out_size[1] * s.kernel[0] * s.kernel[1]


cdef void window_pool(const PoolWindow* s, const float* x, float* y, bint add) noexcept nogil:
    c_pool(cpu_level(), s, x, y, add, threads_for(_work(s)))


cdef void window_unpool(const PoolWindow* s, const float* dy, const float* x, float* dx,
                        bint add) noexcept nogil:
    c_unpool(cpu_level(), s, dy, x, dx, add, threads_for(_work(s)))
