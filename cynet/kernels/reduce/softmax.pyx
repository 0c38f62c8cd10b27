"""Softmax (contract in softmax.pxd): the loops are in softmax.h."""

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_awake, threads_for

cdef extern from "reduce/softmax.h" namespace "cynet" nogil:
    struct SoftmaxShape:
        int64_t outer, n, inner
        const void* lengths
        bint wide
        double temperature
        bint log_of, add
    void softmax_lines[T](int threads, int level, const SoftmaxShape& s, const T* x,
                          T* y) noexcept
    void softmax_gradient_lines[T](int threads, int level, const SoftmaxShape& s, const T* dy,
                                   const T* y, T* dx) noexcept


cdef void softmax_forward(const floating* x, floating* y, int64_t outer, int64_t n, int64_t inner,
                          double temperature, bint log_of, const void* lengths, bint wide,
                          bint add) noexcept nogil:
    cdef SoftmaxShape shape = [outer, n, inner, lengths, wide, temperature, log_of, add]
    cdef int threads = threads_for(outer * n * inner * 4)
    if threads == 1:  # a line costs something, however short
        threads = threads_awake(outer * inner * (4 * n + 32))
    softmax_lines(threads, cpu_level(), shape, x, y)


cdef void softmax_backward(const floating* dy, const floating* y, floating* dx, int64_t outer,
                           int64_t n, int64_t inner, double temperature, bint log_of,
                           const void* lengths, bint wide, bint add) noexcept nogil:
    cdef SoftmaxShape shape = [outer, n, inner, lengths, wide, temperature, log_of, add]
    cdef int threads = threads_for(outer * n * inner * (4 if log_of else 2))
    softmax_gradient_lines(threads, cpu_level(), shape, dy, y, dx)
