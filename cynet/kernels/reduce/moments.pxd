"""Mean and variance over some axes (moments.h)."""

from libc.stdint cimport int64_t

cdef extern from "reduce/moments.h" namespace "cynet" nogil:
    # Lengths and strides of the axes that number the outputs and of those that are folded; the last
    # of each are the innermost ones.
    struct MomentAxes:
        int n_kept, n_folded
        int64_t kept[8]
        int64_t kept_strides[8]
        int64_t folded[8]
        int64_t folded_strides[8]
        int64_t outputs, each
    # mean and variance (+)=, where they are not NULL
    void moments_forward(int dtype, int threads, const MomentAxes& axes, const void* x, void* mean,
                         void* variance, bint add_mean, bint add_variance) noexcept
    # dx (+)= the gradient; dx must not be x
    void moments_backward(int dtype, int threads, const MomentAxes& axes, const void* dmean,
                          const void* dvariance, const void* x, void* dx, bint add) noexcept
