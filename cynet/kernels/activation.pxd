"""Activation functions and their gradients, which all follow from the output alone."""

from cython cimport floating
from libc.stdint cimport int64_t

cdef enum ActivationType:
    kReLU = 0
    kSigmoid = 1
    kTanh = 2
    kSoftReLU = 3
    kSoftSign = 4

# y (+)= f(x); y may be x
cdef void activation_forward(int kind, const floating* x, floating* y, int64_t n, bint add) noexcept nogil
# dx (+)= dy f'(x) with y = f(x); dx may be dy
cdef void activation_backward(int kind, const floating* dy, const floating* y, floating* dx, int64_t n,
                              bint add) noexcept nogil
