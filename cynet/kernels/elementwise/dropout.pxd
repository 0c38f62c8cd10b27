"""Dropout inside of a layer, for float and double; the operator Dropout is in dropout.cc."""

from cython cimport floating
from libc.stdint cimport int64_t, uint64_t

# factor = 1 / (1 - p) or 0, by the random words from block `first` on; x *= factor
cdef void dropout_factors(uint64_t seed, uint64_t stream, int64_t first, double p, floating* factor,
                          floating* x, int64_t n) noexcept nogil
