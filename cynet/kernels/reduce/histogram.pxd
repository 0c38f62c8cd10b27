"""How many numbers lie between edges (histogram.h)."""

from libc.stdint cimport int64_t

cdef extern from "reduce/histogram.h" namespace "cynet" nogil:
    # edges (bins + 1) of intervals of one width
    void even_edges(int dtype, int64_t bins, double low, double high, void* edges) noexcept
    # the first of n edges that is below the one before it, or NaN; -1: none is
    int64_t falling_edge(int dtype, const void* edges, int64_t n) noexcept
    # counts (bins) += numbers in each interval; the last one holds its upper edge, too. The edges
    # are of the numbers' dtype or float64
    void count_into_bins(int dtype, const void* x, int64_t n, bint even, int edges_dtype,
                         const void* edges, int64_t bins, int64_t* counts) noexcept
