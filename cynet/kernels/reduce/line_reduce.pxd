"""Sums of contiguous lines: quick, and with errors that hardly grow with their length."""

from cython cimport floating
from libc.stdint cimport int64_t

# Sum of x - center, or of its square.
cdef double sum_line(const floating* x, int64_t n, double center, bint squared) noexcept nogil
# Sum of g * (x - center).
cdef double dot_line(const floating* g, const floating* x, int64_t n, double center) noexcept nogil
# y[j] += the sum of column j, for columns [begin, end) of a row-major matrix
cdef void add_columns(const floating* x, int64_t rows, int64_t cols, int64_t begin, int64_t end,
                      floating* y) noexcept nogil
