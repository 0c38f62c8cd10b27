"""Correlation of two images (batch, channels, height, width): out (batch, (2 reach + 1)^2,
out_height, out_width), for each shift the mean of products, or of absolute differences, of a patch
of `kernel` pixels and the shifted one (Fischer et al., "FlowNet", 2015)."""

from libc.stdint cimport int64_t

cdef extern from "vision/correlation.h" namespace "cynet" nogil:
    # out_height, out_width and reach are derived by whoever fills it in
    struct CorrelationShape:
        int64_t batch, channels, height, width, kernel, displacement, stride1, stride2, pad
        int64_t out_height, out_width, reach
        bint multiply

cdef int correlation_threads(const CorrelationShape* shape) noexcept nogil
# Elements of temporary space for so many threads.
cdef int64_t correlation_space(const CorrelationShape* shape, int threads) noexcept nogil
cdef void correlate(int dtype, const CorrelationShape* shape, const void* a, const void* b,
                    void* out, bint add, int threads, void* space) noexcept nogil
# dx (+)= the gradient of a, or of b if `second`; `own` is what it is the gradient of
cdef void correlate_backward(int dtype, const CorrelationShape* shape, bint second,
                             const void* own, const void* other, const void* dy, void* dx,
                             bint add, int threads, void* space) noexcept nogil
