"""Normalization along the middle axis of (outer, n, inner)."""

from cython cimport floating
from libc.stdint cimport int64_t

# y (+)= (x - mean) / std * gamma + beta with std = sqrt(var + eps), a line of n at a time; mean and
# std get one number a line. Each of y, mean, std may be NULL.
cdef void layer_norm_forward(const floating* x, const floating* gamma, const floating* beta,
                             floating* y,
                             floating* mean, floating* std, int64_t outer, int64_t n, int64_t inner,
                             double eps, bint add, bint add_mean, bint add_std) noexcept nogil
# dx (+)= its gradient; dx may be dy
cdef void layer_norm_backward(const floating* dy, const floating* x, const floating* gamma,
                              const floating* mean, const floating* std, floating* dx,
                              int64_t outer, int64_t n, int64_t inner, bint add) noexcept nogil
# dgamma (+)= sum over lines of dy * (x - mean) / std, and dbeta (+)= that of dy; either may be NULL
cdef void layer_norm_backward_scale(const floating* dy, const floating* x, const floating* mean,
                                    const floating* std, floating* dgamma, floating* dbeta,
                                    int64_t outer, int64_t n, int64_t inner, bint add_gamma,
                                    bint add_beta) noexcept nogil
