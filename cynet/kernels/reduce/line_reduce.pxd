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
# y = or += (x - mean) / std gamma + beta along a line, of which mean and std = sqrt(variance + eps)
# are given back
cdef void normalize_line(const floating* x, const floating* gamma, const floating* beta,
                         floating* y, int64_t n, double eps, bint add, double* mean,
                         double* std) noexcept nogil
# dx = or += the gradient of a line's normalize_line; dx may be dy
cdef void normalize_line_gradient(const floating* dy, const floating* x, const floating* gamma,
                                  floating mean, floating std, floating* dx, int64_t n,
                                  bint add) noexcept nogil
# Of the first `width` columns of n: products[j] = the sum over lines of dy (x - mean) / std,
# totals[j] that of dy
cdef void sum_scale_gradients(const floating* dy, const floating* x, const floating* mean,
                              const floating* std, int64_t lines, int64_t n, int64_t width,
                              double* products, double* totals) noexcept nogil
