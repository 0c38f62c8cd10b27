"""Reading and writing rows by index; running sums; masks of sequences (contract in index.pxd)."""

from libc.stdint cimport int64_t

from ..parallel cimport threads_for


cdef extern from "movement/index.h" namespace "cynet" nogil:
    void read_indices_all(int threads, int dtype, const void* numbers, int64_t* index,
                          int64_t n) noexcept
    void gather_all(int threads, int dtype, bint add, int64_t outer, int64_t n, int64_t inner,
                    int64_t m,
                    const int64_t* index, const void* src, void* dst) noexcept
    void scatter_all(int threads, int dtype, bint add, int64_t outer, int64_t n, int64_t inner,
                     int64_t m,
                     const int64_t* index, const void* src, void* dst) noexcept
    void pick_all(int threads, int dtype, bint backwards, bint add, int64_t outer, int64_t n,
                  int64_t inner, const int64_t* index, void* src, void* picked) noexcept
    void one_hot_all(int threads, int dtype, bint add, int64_t m, int64_t depth, double on,
                     double off,
                     const int64_t* index, void* out) noexcept
    void borders_all(int threads, int dtype, bint backwards, bint add, int ndim, bint reflect,
                     const int64_t* dst_shape, const int64_t* src_shape, const int64_t* before,
                     void* src, void* dst) noexcept
    void cumsum_all(int threads, int dtype, bint reverse, bint add, int64_t outer, int64_t n,
                    int64_t inner, const void* x, void* out) noexcept
    void mask_rows_all(int threads, int dtype, bint add, bint batch_first, int64_t time,
                       int64_t batch,
                       int64_t inner, const int64_t* length, const void* x, double value,
                       void* out) noexcept


cdef void read_indices(int dtype, const void* numbers, int64_t* index, int64_t n) noexcept nogil:
    read_indices_all(threads_for(n), dtype, numbers, index, n)


cdef int64_t bound_indices(int64_t* index, int64_t m, int64_t n, int mode) noexcept nogil:
    cdef int64_t i, k
    for i in range(m):
        k = index[i]
        if 0 <= k < n:
            continue
        if n == 0:  # nothing to clip to, no length to wrap by
            return i
        if mode == INDEX_CLIP:
            index[i] = 0 if k < 0 else n - 1
        elif mode == INDEX_WRAP:
            k = k % n
            index[i] = k + n if k < 0 else k
        else:
            return i
    return -1


cdef void run_gather(int dtype, bint add, int64_t outer, int64_t n, int64_t inner, int64_t m,
                     const int64_t* index, const void* src, void* dst) noexcept nogil:
    gather_all(threads_for(outer * m * inner), dtype, add, outer, n, inner, m, index, src, dst)


cdef void run_scatter(int dtype, bint add, int64_t outer, int64_t n, int64_t inner, int64_t m,
                      const int64_t* index, const void* src, void* dst) noexcept nogil:
    scatter_all(threads_for(outer * m * inner), dtype, add, outer, n, inner, m, index, src, dst)


cdef void run_pick(int dtype, bint backwards, bint add, int64_t outer, int64_t n, int64_t inner,
                   const int64_t* index, void* src, void* picked) noexcept nogil:
    pick_all(threads_for(outer * inner), dtype, backwards, add, outer, n, inner, index, src, picked)


cdef void run_one_hot(int dtype, bint add, int64_t m, int64_t depth, double on, double off,
                      const int64_t* index, void* out) noexcept nogil:
    one_hot_all(threads_for(m * depth), dtype, add, m, depth, on, off, index, out)


cdef void run_borders(int dtype, bint backwards, bint add, int ndim, bint reflect,
                      const int64_t* dst_shape, const int64_t* src_shape, const int64_t* before,
                      void* src, void* dst) noexcept nogil:
    cdef int64_t work = 1
    cdef int i
    for i in range(ndim):
        work *= dst_shape[i]
    borders_all(threads_for(work), dtype, backwards, add, ndim, reflect, dst_shape, src_shape,
                before, src, dst)


cdef void run_cumsum(int dtype, bint reverse, bint add, int64_t outer, int64_t n, int64_t inner,
                     const void* x, void* out) noexcept nogil:
    cumsum_all(threads_for(outer * n * inner), dtype, reverse, add, outer, n, inner, x, out)


cdef void run_mask_rows(int dtype, bint add, bint batch_first, int64_t time, int64_t batch,
                        int64_t inner,
                        const int64_t* length, const void* x, double value,
                        void* out) noexcept nogil:
    mask_rows_all(threads_for(time * batch * inner), dtype, add, batch_first, time, batch, inner,
                  length,
                  x, value, out)
