"""Rectifiers with a slope for negative numbers, and their gradients."""

from cython cimport floating
from libc.stdint cimport int64_t

cdef enum RectifierType:
    kLeaky = 0  # x, slope * x below 0
    kELU = 1    # x, slope * (e^x - 1) below 0
    kSELU = 2   # the self-normalizing one
    kGELU = 3   # x times the normal distribution function of x

# y (+)= f(x); y may be x
cdef void rectifier_forward(int type, const floating* x, floating* y, int64_t n, double slope,
                            bint add) noexcept nogil
# dx (+)= dy * f'(x); dx may be dy
cdef void rectifier_backward(int type, const floating* dy, const floating* x, floating* dx,
                             int64_t n, double slope, bint add) noexcept nogil

# y (+)= g where x > 0, else g by slopes[i // inner % channels] for element i: forward with x for g,
# and the gradient; y may be g
cdef void sloped(const floating* g, const floating* x, const floating* slopes, floating* y,
                 int64_t n, int64_t channels, int64_t inner, bint add) noexcept nogil
# dslopes[c] (+)= the sum of dy * x over the elements of c that are below 0
cdef void slopes_backward(const floating* dy, const floating* x, floating* dslopes, int64_t n,
                          int64_t channels, int64_t inner, bint add) noexcept nogil
