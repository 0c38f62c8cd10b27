"""Sums of contiguous lines, quick and with errors that hardly grow with their length; sums and
copies along the rows or the columns of a row-major matrix, as biases need them."""

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
# Sum of x - center, or of its square.
cdef double sum_line(const floating* x, int64_t n, double center, bint squared) noexcept nogil
# Sum of g * (x - center).
cdef double dot_line(const floating* g, const floating* x, int64_t n, double center) noexcept nogil
# y[j] += the sum of column j, for columns [begin, end) of a row-major matrix
cdef void add_columns(const floating* x, int64_t rows, int64_t cols, int64_t begin, int64_t end,
                      floating* y) noexcept nogil
