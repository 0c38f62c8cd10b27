"""Reading and writing rows by index; running sums; masks of sequences. Indices are int64 within
bounds."""

from libc.stdint cimport int64_t

cdef enum:
    INDEX_CLIP = 0
    INDEX_WRAP = 1
    INDEX_RAISE = 2

# n numbers of a dtype as indices: truncated; beyond int64 they become its limits, NaN the lower one
cdef void read_indices(int dtype, const void* numbers, int64_t* index, int64_t n) noexcept nogil
# Bring m indices into [0, n) as `mode` says; returns the position of the first that INDEX_RAISE
# refuses, or -1.
cdef int64_t bound_indices(int64_t* index, int64_t m, int64_t n, int mode) noexcept nogil
# dst (outer, m, inner) (+)= rows index[m] of src (outer, n, inner)
cdef void run_gather(int dtype, bint add, int64_t outer, int64_t n, int64_t inner, int64_t m,
                     const int64_t* index, const void* src, void* dst) noexcept nogil
# rows index[m] of dst (outer, n, inner) = or += src (outer, m, inner); of equal indices the last
# wins
cdef void run_scatter(int dtype, bint add, int64_t outer, int64_t n, int64_t inner, int64_t m,
                      const int64_t* index, const void* src, void* dst) noexcept nogil
# picked (outer, inner) (+)= src (outer, n, inner) at index (outer, inner); backwards: src += picked
cdef void run_pick(int dtype, bint backwards, bint add, int64_t outer, int64_t n, int64_t inner,
                   const int64_t* index, void* src, void* picked) noexcept nogil
cdef void run_one_hot(int dtype, bint add, int64_t m, int64_t depth, double on, double off,
                      const int64_t* index, void* out) noexcept nogil
# dst (+)= src with borders, `before` each axis and after it, of the nearest element or, with
# `reflect`, of the elements mirrored at the edge; backwards: src += dst
cdef void run_borders(int dtype, bint backwards, bint add, int ndim, bint reflect,
                      const int64_t* dst_shape, const int64_t* src_shape, const int64_t* before,
                      void* src, void* dst) noexcept nogil
cdef void run_cumsum(int dtype, bint reverse, bint add, int64_t outer, int64_t n, int64_t inner,
                     const void* x, void* out) noexcept nogil
# rows (time, batch, inner) at or after length[batch] become `value`, the others are copied
cdef void run_mask_rows(int dtype, bint add, bint batch_first, int64_t time, int64_t batch,
                        int64_t inner,
                        const int64_t* length, const void* x, double value,
                        void* out) noexcept nogil
