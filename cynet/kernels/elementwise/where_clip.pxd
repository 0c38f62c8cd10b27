"""Choosing by value: clip, hard sigmoid and where, with their gradients."""

from libc.stdint cimport int64_t

cdef void run_clip(int dtype, const void* x, double low, double high, void* out, int64_t n,
                   bint add) noexcept nogil
# out (+)= g where low <= x <= high, else 0
cdef void run_clip_grad(int dtype, const void* g, const void* x, double low, double high, void* out,
                        int64_t n, bint add) noexcept nogil
# out (+)= x where the condition is nonzero, else y; one condition for `each` neighbours; NULL
# stands for 0
cdef void run_where(int dtype, int cond_dtype, const void* condition, int64_t each, const void* x,
                    const void* y, void* out, int64_t n, bint add) noexcept nogil
# out (+)= slope * x + shift limited to [0, 1]
cdef void run_hard_sigmoid(int dtype, const void* x, double slope, double shift, void* out,
                           int64_t n,
                           bint add) noexcept nogil
# out (+)= slope * g where the output y lies between the limits, else 0
cdef void run_hard_sigmoid_grad(int dtype, const void* g, const void* y, double slope, void* out,
                                int64_t n, bint add) noexcept nogil
