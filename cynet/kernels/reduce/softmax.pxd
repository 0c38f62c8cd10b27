"""Softmax along the middle axis of (outer, n, inner) and its gradient."""

from cython cimport floating
from libc.stdint cimport int64_t

# y (+)= softmax(x / temperature), its logarithm when `log_of`. With lengths (int32, or int64 when
# `wide`; one for each of the outer * inner lines, in order) only the first lengths[line] entries
# take part and the rest give 0. y may be x.
cdef void softmax_forward(const floating* x, floating* y, int64_t outer, int64_t n, int64_t inner,
                          double temperature, bint log_of, const void* lengths, bint wide,
                          bint add) noexcept nogil
# dx (+)= the gradient, with y as forward made it; dx may be dy
cdef void softmax_backward(const floating* dy, const floating* y, floating* dx, int64_t outer,
                           int64_t n, int64_t inner, double temperature, bint log_of,
                           const void* lengths, bint wide, bint add) noexcept nogil
