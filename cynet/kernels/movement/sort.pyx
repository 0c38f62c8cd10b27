"""The order of elements along an axis, and what is taken by it (contract in sort.pxd)."""

from libc.stdint cimport int64_t

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_awake, threads_for


cdef extern from "movement/sort.h" namespace "cynet" nogil:
    void order_all(int threads, int level, int dtype, bint ascending, int64_t outer, int64_t n,
                   int64_t inner, int64_t k, const void* x, int64_t* scratch,
                   int64_t* order) noexcept
    void take_order_all(int threads, int dtype, bint backwards, bint add, int64_t outer, int64_t n,
                        int64_t inner, int64_t k, const int64_t* order, void* x,
                        void* values) noexcept
    void mark_order_all(int threads, int dtype, int64_t outer, int64_t n, int64_t inner, int64_t k,
                        const int64_t* order, void* mask) noexcept


cdef enum:
    WAKING = 1 << 16  # elements that are worth waking a thread


cdef int64_t order_scratch(int64_t outer, int64_t n, int64_t inner) noexcept nogil:
    return 2 * n * min(outer * inner, <int64_t>threads_for(<int64_t>1 << 40))


cdef void run_order(int dtype, bint ascending, int64_t outer, int64_t n, int64_t inner, int64_t k,
                    const void* x, int64_t* scratch, int64_t scratch_size,
                    int64_t* order) noexcept nogil:
    # an element takes several steps
    cdef int64_t size = outer * n * inner
    cdef int threads = threads_for(size * 8) if size >= WAKING else threads_awake(size * 8)
    if 2 * n * threads > scratch_size:  # fewer rows than threads, or another setting than before
        threads = <int>max(scratch_size // (2 * n), <int64_t>1)
    order_all(threads, cpu_level(), dtype, ascending, outer, n, inner, k, x, scratch, order)


cdef void run_take_order(int dtype, bint backwards, bint add, int64_t outer, int64_t n,
                         int64_t inner,
                         int64_t k, const int64_t* order, void* x, void* values) noexcept nogil:
    take_order_all(threads_for(outer * k * inner), dtype, backwards, add, outer, n, inner, k, order,
                   x,
                   values)


cdef void run_mark_order(int dtype, int64_t outer, int64_t n, int64_t inner, int64_t k,
                         const int64_t* order, void* mask) noexcept nogil:
    mark_order_all(threads_for(outer * k * inner), dtype, outer, n, inner, k, order, mask)
