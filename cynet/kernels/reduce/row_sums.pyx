"""Sums of contiguous lines, sums and copies along rows or columns (contract in row_sums.pxd)."""

from cython.parallel cimport prange
from libc.string cimport memcpy

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for


cdef extern from "reduce/line_reduce.h" namespace "cynet" nogil:
    double sum_at_level[T](int level, const T* x, int64_t n, double center, bint squared) noexcept
    double product_at_level[T](int level, const T* g, const T* x, int64_t n, double center) noexcept
    void add_columns_at_level[T](int level, const T* x, int64_t rows, int64_t cols, int64_t begin,
                                 int64_t end, T* y) noexcept


cdef double sum_line(const floating* x, int64_t n, double center, bint squared) noexcept nogil:
    return sum_at_level(cpu_level(), x, n, center, squared)


cdef double dot_line(const floating* g, const floating* x, int64_t n, double center) noexcept nogil:
    return product_at_level(cpu_level(), g, x, n, center)


cdef void add_columns(const floating* x, int64_t rows, int64_t cols, int64_t begin, int64_t end,
                      floating* y) noexcept nogil:
    add_columns_at_level(cpu_level(), x, rows, cols, begin, end, y)


cdef void _sum_columns(const floating* x, int64_t rows, int64_t cols, int64_t begin, int64_t end,
                       floating* y, bint add) noexcept nogil:
    cdef int64_t j
    if not add:
        for j in range(begin, end):
            y[j] = 0
    add_columns(x, rows, cols, begin, end, y)


cdef void sum_rows(const floating* x, int64_t rows, int64_t cols, floating* y,
                   bint add) noexcept nogil:
    cdef int threads = threads_for(rows * cols)
    cdef int t
    if threads > 1 and cols < 32 * threads:  # parts of a few cache lines are too small
        threads = 1
    for t in prange(threads, num_threads=threads, schedule="static"):
        _sum_columns(x, rows, cols, cols * t // threads, cols * (t + 1) // threads, y, add)


cdef void sum_channels(const floating* x, int64_t batch, int64_t channels, int64_t space,
                       floating* y, bint add) noexcept nogil:
    cdef int threads = threads_for(batch * channels * space)
    cdef int64_t n, c
    cdef double total
    for c in prange(channels, num_threads=threads, schedule="static"):
        total = y[c] if add else 0
        for n in range(batch):
            total = total + sum_line(x + (n * channels + c) * space, space, 0, False)
        y[c] = <floating>total


cdef void broadcast_rows(const floating* b, int64_t rows, int64_t cols, floating* y,
                         bint add) noexcept nogil:
    cdef int64_t i, j
    cdef floating* row
    for i in range(rows):
        row = y + i * cols
        if add:
            for j in range(cols):
                row[j] += b[j]
        else:
            memcpy(row, b, cols * sizeof(floating))


cdef void add_channels(const floating* b, int64_t batch, int64_t channels, int64_t space,
                       floating* y) noexcept nogil:
    cdef int64_t line, i
    for line in range(batch * channels):
        for i in range(line * space, (line + 1) * space):
            y[i] += b[line % channels]
