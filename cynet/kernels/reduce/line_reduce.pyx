"""Sums of lines and columns (contract in line_reduce.pxd): the loops are in line_reduce_loops.h."""

from ..isa.dispatch cimport cpu_level

cdef extern from "reduce/line_reduce.h" namespace "cynet" nogil:
    double sum_at[T](int level, const T* x, int64_t n, double center, bint squared) noexcept
    double product_at[T](int level, const T* g, const T* x, int64_t n, double center) noexcept
    void columns_at[T](int level, const T* x, int64_t rows, int64_t cols, int64_t begin,
                       int64_t end, T* y) noexcept


cdef double sum_line(const floating* x, int64_t n, double center, bint squared) noexcept nogil:
    return sum_at(cpu_level(), x, n, center, squared)


cdef double dot_line(const floating* g, const floating* x, int64_t n, double center) noexcept nogil:
    return product_at(cpu_level(), g, x, n, center)


cdef void add_columns(const floating* x, int64_t rows, int64_t cols, int64_t begin, int64_t end,
                      floating* y) noexcept nogil:
    columns_at(cpu_level(), x, rows, cols, begin, end, y)
