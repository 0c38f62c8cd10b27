"""The order of elements along an axis, and what is taken by it."""

from libc.stdint cimport int64_t

# Elements of int64 that run_order needs as scratch
cdef int64_t order_scratch(int64_t outer, int64_t n, int64_t inner) noexcept nogil
# order (outer, k, inner): positions of the k first of x (outer, n, inner); ties by position, NaN
# last
cdef void run_order(int dtype, bint ascending, int64_t outer, int64_t n, int64_t inner, int64_t k,
                    const void* x, int64_t* scratch, int64_t scratch_size,
                    int64_t* order) noexcept nogil
# values (outer, k, inner) (+)= x at `order`; backwards: x += values
cdef void run_take_order(int dtype, bint backwards, bint add, int64_t outer, int64_t n,
                         int64_t inner,
                         int64_t k, const int64_t* order, void* x, void* values) noexcept nogil
# mask (outer, n, inner) += 1 at `order`
cdef void run_mark_order(int dtype, int64_t outer, int64_t n, int64_t inner, int64_t k,
                         const int64_t* order, void* mask) noexcept nogil
