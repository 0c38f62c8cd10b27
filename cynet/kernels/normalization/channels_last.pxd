"""Normalization and pooling of channels-last float tensors (N, *size, C)."""

from libc.stdint cimport int64_t
from libcpp cimport bool as cbool

cdef extern from "normalization/channels_last.h" namespace "cynet" nogil:
    struct NormShape:
        int64_t rows
        int64_t channels
        double eps
        int fixed
        int relu
        int residual

    struct NormGradient:
        const float* dy
        const float* x
        const float* y
        const float* scale
        const float* shift
        const float* gamma
        const float* mean
        const float* inv_std
        float* dx
        float* dresidual
        float* dgamma
        float* dbeta
        cbool add_x
        cbool add_residual
        cbool add_gamma
        cbool add_beta
        cbool constant

    struct PoolWindow:
        int64_t batch
        int64_t channels
        int64_t in_size[2]
        int64_t out_size[2]
        int64_t kernel[2]
        int64_t stride[2]
        int64_t pad[2]
        int64_t pad_after[2]
        int type
        int count_pad

    # bytes that `space` must have below
    size_t norm_space(const NormShape* s) noexcept

# mean[c], then variance[c], at the front of space
cdef void norm_statistics(const NormShape* s, const float* x, double* space) noexcept nogil
# y (+)= relu(x * scale + shift + residual), as the shape says
cdef void norm_apply(const NormShape* s, const float* x, const float* scale, const float* shift,
                     const float* residual, float* y, bint add) noexcept nogil
cdef void norm_backward(const NormShape* s, const NormGradient* g, double* space) noexcept nogil
# y (+)= pool(x); dx (+)= its gradient (x is read for maxima only)
cdef void window_pool(const PoolWindow* s, const float* x, float* y, bint add) noexcept nogil
cdef void window_unpool(const PoolWindow* s, const float* dy, const float* x, float* dx,
                        bint add) noexcept nogil
