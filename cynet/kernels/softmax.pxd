"""Softmax along the middle axis of (outer, n, inner), and the gradient of the softmax loss."""

from cython cimport floating
from libc.stdint cimport int64_t

# y (+)= softmax(x / temperature), its logarithm when `log`. With lengths (one for each outer x inner line),
# only the first lengths[line] entries take part and the rest give 0. y may be x.
cdef void softmax_forward(const floating* x, floating* y, int64_t outer, int64_t n, int64_t inner,
                          double temperature, bint log, const int64_t* lengths, bint add) noexcept nogil
# dx (+)= the gradient with y = softmax_forward(x); dx may be dy
cdef void softmax_backward(const floating* dy, const floating* y, floating* dx, int64_t outer, int64_t n,
                           int64_t inner, double temperature, bint log, const int64_t* lengths,
                           bint add) noexcept nogil
