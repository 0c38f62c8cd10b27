"""Dropout's masks and their application, for float and double."""

from cython cimport floating
from libc.stdint cimport int64_t, uint64_t
from libcpp cimport bool as cbool

# Element i stays with probability 1 - p, by word i of the stream: keep[i] = 1, else 0.
cdef void dropout_mask(uint64_t seed, uint64_t stream, double p, cbool* keep,
                       int64_t n) noexcept nogil
# y (+)= x / (1 - p) where keep, else 0
cdef void dropout_apply(const floating* x, const cbool* keep, double p, floating* y, int64_t n,
                        bint add) noexcept nogil
# both
cdef void dropout_forward(uint64_t seed, uint64_t stream, double p, cbool* keep, const floating* x,
                          floating* y, int64_t n, bint add) noexcept nogil
# The application of a mask whose stride is 0 along the axes it lacks.
cdef void dropout_spread(const floating* x, const cbool* keep, double p, floating* y, int ndim,
                         const int64_t* shape, const int64_t* stride, bint add) noexcept nogil
# factor = 1 / (1 - p) or 0, by the words behind block `first` (of four); x *= factor
cdef void dropout_factors(uint64_t seed, uint64_t stream, int64_t first, double p, floating* factor,
                          floating* x, int64_t n) noexcept nogil
