"""Correlation (contract in correlation.pxd)."""

from libc.stdint cimport int64_t

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "vision/correlation.h" namespace "cynet" nogil:
    void correlate_all(int threads, int level, int dtype, const CorrelationShape* s,
                       const void* a, const void* b, void* out, bint add, void* space) noexcept
    void correlate_backward_all(int threads, int level, int dtype, const CorrelationShape* s,
                                bint second, const void* own, const void* other, const void* dy,
                                void* dx, bint add, void* space) noexcept


cdef int correlation_threads(const CorrelationShape* shape) noexcept nogil:
    cdef int64_t shifts = (2 * shape.reach + 1) * (2 * shape.reach + 1)
    return threads_for(shape.batch * shifts * shape.channels * shape.height * shape.width)


cdef int64_t correlation_space(const CorrelationShape* shape, int threads) noexcept nogil:
    return shape.height * shape.width * threads


cdef void correlate(int dtype, const CorrelationShape* shape, const void* a, const void* b,
                    void* out, bint add, int threads, void* space) noexcept nogil:
    correlate_all(threads, cpu_level(), dtype, shape, a, b, out, add, space)


cdef void correlate_backward(int dtype, const CorrelationShape* shape, bint second,
                             const void* own, const void* other, const void* dy, void* dx,
                             bint add, int threads, void* space) noexcept nogil:
    correlate_backward_all(threads, cpu_level(), dtype, shape, second, own, other, dy, dx, add,
                           space)
