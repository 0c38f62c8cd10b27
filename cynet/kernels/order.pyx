"""The order of elements along an axis, and what is taken by it (contract in order.pxd)."""

from libc.stdint cimport int64_t

from .dispatch cimport cpu_level
from .parallel cimport threads_for


cdef extern from "order.h" namespace "cynet" nogil:
    void order_all(int threads, int level, int dtype, bint ascending, int64_t outer, int64_t n,
                   int64_t inner, int64_t k, const void* x, int64_t* scratch,
                   int64_t* order) noexcept
    void take_order_all(int threads, int dtype, bint backwards, bint add, int64_t outer, int64_t n,
                        int64_t inner, int64_t k, const int64_t* order, void* x,
                        void* values) noexcept
    void mark_order_all(int threads, int dtype, int64_t outer, int64_t n, int64_t inner, int64_t k,
                        const int64_t* order, void* mask) noexcept


cdef int64_t order_scratch(int64_t outer, int64_t n, int64_t inner) noexcept nogil:
    return 2 * n * threads_for(outer * n * inner * 8)


cdef void run_order(int dtype, bint ascending, int64_t outer, int64_t n, int64_t inner, int64_t k,
                    const void* x, int64_t* scratch, int64_t scratch_size,
                    int64_t* order) noexcept nogil:
    # a comparison sort takes several steps an element
    cdef int threads = threads_for(outer * n * inner * 8)
    if threads * 2 * n > scratch_size:  # the setting has changed since the scratch was asked for
        threads = 1
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
