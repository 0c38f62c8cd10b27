"""Counts and gathers the rows that a mask of one byte per row marks (marked_rows.h)."""

from libc.stdint cimport int64_t

cdef extern from "movement/marked_rows.h" namespace "cynet" nogil:
    # The length of the array `starts` below.
    int64_t mark_block_count(int64_t n) noexcept
    # Returns the number of nonzero marks; `starts` is an output that gather_marked needs.
    int64_t count_marked(int threads, const char* marks, int64_t n, int64_t* starts) noexcept
    # dst = the rows of src, of `nbytes` bytes, that are marked. Marks that have changed since they
    # were counted may give other rows, never more.
    void gather_marked(int threads, char* dst, const char* src, const char* marks, int64_t n,
                       int64_t nbytes, const int64_t* starts, int64_t total) noexcept
