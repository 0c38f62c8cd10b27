"""Sums of lines and columns (contract in line_reduce.pxd): the loops are in line_reduce_loops.h."""

from ..isa.dispatch cimport cpu_level

cdef extern from "reduce/line_reduce.h" namespace "cynet" nogil:
    double sum_at[T](int level, const T* x, int64_t n, double center, bint squared) noexcept
    double product_at[T](int level, const T* g, const T* x, int64_t n, double center) noexcept
    void columns_at[T](int level, const T* x, int64_t rows, int64_t cols, int64_t begin,
                       int64_t end, T* y) noexcept
    void normalized_at[T](int level, const T* x, const T* gamma, const T* beta, T* y, int64_t n,
                          double eps, bint add, double* mean, double* std) noexcept
    void normalized_gradient_at[T](int level, const T* dy, const T* x, const T* gamma, T mean,
                                   T std, T* dx, int64_t n, bint add) noexcept
    void gradient_columns_at[T](int level, const T* dy, const T* x, const T* mean, const T* std,
                                int64_t lines, int64_t n, int64_t width,
                                double* products, double* totals) noexcept


cdef double sum_line(const floating* x, int64_t n, double center, bint squared) noexcept nogil:
    return sum_at(cpu_level(), x, n, center, squared)


cdef double dot_line(const floating* g, const floating* x, int64_t n, double center) noexcept nogil:
    return product_at(cpu_level(), g, x, n, center)


cdef void add_columns(const floating* x, int64_t rows, int64_t cols, int64_t begin, int64_t end,
                      floating* y) noexcept nogil:
    columns_at(cpu_level(), x, rows, cols, begin, end, y)


cdef void normalize_line(const floating* x, const floating* gamma, const floating* beta,
                         floating* y, int64_t n, double eps, bint add, double* mean,
                         double* std) noexcept nogil:
    normalized_at(cpu_level(), x, gamma, beta, y, n, eps, add, mean, std)


cdef void normalize_line_gradient(const floating* dy, const floating* x, const floating* gamma,
                                  floating mean, floating std, floating* dx, int64_t n,
                                  bint add) noexcept nogil:
    normalized_gradient_at(cpu_level(), dy, x, gamma, mean, std, dx, n, add)


cdef void sum_scale_gradients(const floating* dy, const floating* x, const floating* mean,
                              const floating* std, int64_t lines, int64_t n, int64_t width,
                              double* products, double* totals) noexcept nogil:
    gradient_columns_at(cpu_level(), dy, x, mean, std, lines, n, width, products, totals)
