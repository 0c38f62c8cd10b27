"""Sums and copies along the rows or the columns of a row-major matrix, as biases need them."""

from cython cimport floating
from libc.stdint cimport int64_t

# y[j] (+)= sum_i x[i, j]
cdef void sum_rows(const floating* x, int64_t rows, int64_t cols, floating* y,
                   bint add) noexcept nogil
# y[c] (+)= sum_n sum_s x[n, c, s]
cdef void sum_channels(const floating* x, int64_t batch, int64_t channels, int64_t space,
                       floating* y, bint add) noexcept nogil
# y[i, j] (+)= b[j]
cdef void broadcast_rows(const floating* b, int64_t rows, int64_t cols, floating* y,
                         bint add) noexcept nogil
# y[n, c, s] += b[c]
cdef void add_channels(const floating* b, int64_t batch, int64_t channels, int64_t space,
                       floating* y) noexcept nogil
