"""Pooling over windows of up to three spatial axes."""

from cython cimport floating
from libc.stdint cimport int64_t

cdef enum PoolType:
    kMaxPool = 0
    kAvgPool = 1
    kSumPool = 2
    kLpPool = 3

cdef extern from "pooling/pooling.h" namespace "cynet" nogil:
    # x (planes, in_size), y (planes, out_size); fewer than three axes: the first ones have size 1.
    struct PoolShape:
        int type  # PoolType
        int p     # of kLpPool: 1, 2 or 3
        bint count_pad  # averages divide by the whole window as far as the padded input goes
        int64_t planes
        int64_t in_size[3]
        int64_t out_size[3]
        int64_t kernel[3]
        int64_t stride[3]
        int64_t pad[3]        # before
        int64_t pad_after[3]  # behind, which only averages that count it notice

# y (+)= pool(x). A window that lies outside: the lowest finite number for max, 0 for the others.
cdef void pool_forward(const PoolShape* shape, const floating* x, floating* y,
                       bint add) noexcept nogil
# dx (+)= the gradient; the first of equal maxima gets it. y is read by kLpPool with p > 1 only and
# may else be NULL.
cdef void pool_backward(const PoolShape* shape, const floating* dy, const floating* x,
                        const floating* y, floating* dx, bint add) noexcept nogil
