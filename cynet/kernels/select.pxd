"""Choosing by value: clip and where, with their gradients."""

from libc.stdint cimport int64_t

cdef void run_clip(int dtype, const void* x, double low, double high, void* out, int64_t n,
                   bint add) noexcept nogil
# out (+)= g where low <= x <= high, else 0
cdef void run_clip_grad(int dtype, const void* g, const void* x, double low, double high, void* out,
                        int64_t n, bint add) noexcept nogil
# out (+)= x where the condition is nonzero, else y; one condition for `each` neighbours; NULL stands for 0
cdef void run_where(int dtype, int cond_dtype, const void* condition, int64_t each, const void* x,
                    const void* y, void* out, int64_t n, bint add) noexcept nogil
