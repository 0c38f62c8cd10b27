"""Local response normalization across channels, for float and double."""

from cython cimport floating
from libc.stdint cimport int64_t
from libcpp cimport bool as cbool

cdef extern from "normalization/lrn.h" namespace "cynet" nogil:
    # Memory is (batch, channels, inner), or (batch, inner, channels) with `last`; `size` channels
    # around, odd.
    struct LocalResponse:
        int64_t batch
        int64_t channels
        int64_t inner
        int64_t size
        double alpha
        double beta
        double knorm
        cbool last

    # elements of scratch that backward needs for each thread
    int64_t response_space(const LocalResponse& s) noexcept

# y (+)= x * norm^-beta, norm = knorm + alpha / size * the sum of x^2 over `size` channels around
cdef void lrn_forward(const LocalResponse* shape, const floating* x, floating* y,
                      bint add, int threads) noexcept nogil
# dx (+)= its gradient
cdef void lrn_backward(const LocalResponse* shape, const floating* dy, const floating* x,
                       floating* dx, bint add, int threads, floating* space) noexcept nogil
