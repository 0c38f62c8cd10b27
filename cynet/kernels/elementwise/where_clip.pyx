"""Choosing by value: clip, hard sigmoid and where, with their gradients (contract in
where_clip.pxd)."""

from libc.stdint cimport int64_t

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for


cdef extern from "elementwise/where_clip.h" namespace "cynet" nogil:
    void clip_all(int threads, int level, int dtype, const void* x, double low, double high,
                  void* out, int64_t n, bint add) noexcept
    void clip_grad_all(int threads, int dtype, const void* g, const void* x, double low,
                       double high,
                       void* out, int64_t n, bint add) noexcept
    void hard_sigmoid_all(int threads, int level, int dtype, const void* x, double slope,
                          double shift, void* out, int64_t n, bint add) noexcept
    void hard_sigmoid_grad_all(int threads, int dtype, const void* g, const void* y, double slope,
                               void* out, int64_t n, bint add) noexcept
    void where_all(int threads, int level, int dtype, int cond_dtype, const void* condition,
                   int64_t each, const void* x, const void* y, void* out, int64_t n,
                   bint add) noexcept


cdef void run_clip(int dtype, const void* x, double low, double high, void* out, int64_t n,
                   bint add) noexcept nogil:
    clip_all(threads_for(n), cpu_level(), dtype, x, low, high, out, n, add)


cdef void run_clip_grad(int dtype, const void* g, const void* x, double low, double high, void* out,
                        int64_t n, bint add) noexcept nogil:
    clip_grad_all(threads_for(n), dtype, g, x, low, high, out, n, add)


cdef void run_where(int dtype, int cond_dtype, const void* condition, int64_t each, const void* x,
                    const void* y, void* out, int64_t n, bint add) noexcept nogil:
    where_all(threads_for(n), cpu_level(), dtype, cond_dtype, condition, each, x, y, out, n, add)


cdef void run_hard_sigmoid(int dtype, const void* x, double slope, double shift, void* out,
                           int64_t n,
                           bint add) noexcept nogil:
    hard_sigmoid_all(threads_for(n), cpu_level(), dtype, x, slope, shift, out, n, add)


cdef void run_hard_sigmoid_grad(int dtype, const void* g, const void* y, double slope, void* out,
                                int64_t n, bint add) noexcept nogil:
    hard_sigmoid_grad_all(threads_for(n), dtype, g, y, slope, out, n, add)
