"""Normalization of each channel of (outer, channels, inner) over the rest."""

from cython cimport floating
from libc.stdint cimport int64_t

cdef struct Channels:
    int64_t outer, channels, inner
    double eps
    bint fixed  # the scale gamma counts as 1, and gets gradient 0

# y (+)= (x - mean) * inv_std * gamma + beta. mean and inv_std are computed from x, or with
# given_mean and given_var from those; both are written where their pointer is not NULL. y may be
# NULL.
cdef void batch_norm_forward(const Channels* shape, const floating* x, const floating* gamma,
                             const floating* beta, const floating* given_mean,
                             const floating* given_var, floating* mean, floating* inv_std,
                             floating* y, bint add, bint add_mean, bint add_std) noexcept nogil
# Gradients; each of dx, dgamma, dbeta may be NULL, and dx may be dy. With `constant`, mean and
# inv_std do not depend on x.
cdef void batch_norm_backward(const Channels* shape, const floating* dy, const floating* x,
                              const floating* gamma, const floating* mean, const floating* inv_std,
                              bint constant, floating* dx, floating* dgamma, floating* dbeta,
                              bint add_x, bint add_gamma, bint add_beta) noexcept nogil
