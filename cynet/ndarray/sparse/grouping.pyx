"""Row indices in groups of equal indices, in time that grows with the number of indices."""

from libc.stdint cimport int64_t

import numpy as np


cdef extern from "sparse/grouping.h" namespace "cynet" nogil:
    int64_t group_numbers(const int64_t*, int64_t, int64_t*, int64_t*, int64_t*,
                          int64_t*) except +
    int64_t group_by_table(const int64_t*, int64_t, int64_t, int64_t*, int64_t*) except +


def group_by_value(const int64_t[::1] numbers not None):
    """The distinct values of `numbers`, none of them negative.

    Returns order, rows, starts : numpy.ndarray: a stable order that sorts `numbers`, the distinct
    values, and where each value begins in `order`.
    """
    cdef int64_t n = numbers.shape[0], count
    if not n:
        return tuple(np.empty(0, np.int64) for _ in range(3))
    order, groups, rows, starts = (np.empty(n, np.int64) for _ in range(4))
    cdef int64_t[::1] order_view = order, groups_view = groups
    cdef int64_t[::1] rows_view = rows, starts_view = starts
    with nogil:
        count = group_numbers(&numbers[0], n, &order_view[0], &groups_view[0], &rows_view[0],
                              &starts_view[0])
    return order, rows[:count].copy(), starts[:count].copy()


def distinct_values(const int64_t[::1] numbers not None, int64_t limit):
    """The distinct values of `numbers` in rising order, and for each number the index of its value;
    numbers are from 0 to ``limit - 1``."""
    cdef int64_t n = numbers.shape[0], count
    if not n:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    order, groups, rows, starts = (np.empty(n, np.int64) for _ in range(4))
    cdef int64_t[::1] order_view = order, groups_view = groups
    cdef int64_t[::1] rows_view = rows, starts_view = starts
    with nogil:
        if limit // 4 <= n:
            count = group_by_table(&numbers[0], n, limit, &groups_view[0], &rows_view[0])
        else:
            count = group_numbers(&numbers[0], n, &order_view[0], &groups_view[0], &rows_view[0],
                                  &starts_view[0])
    return rows[:count].copy(), groups
