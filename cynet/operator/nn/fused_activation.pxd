"""An activation that the fuse pass has folded into a float32 operator."""

from libc.stdint cimport int64_t

from ..._typedefs cimport aligned
from ...kernels.elementwise.elementwise cimport Kernel


cdef inline size_t aligned_float_bytes(int64_t n) noexcept nogil:
    """Bytes of n floats in temporary space, up to where the next array may begin."""
    return aligned(n * sizeof(float))


cdef class FoldedActivation:  # an activation applied to an output
    cdef Kernel function, mask
    cdef int64_t size
    cdef readonly size_t nbytes  # bytes of `space` below; 0: `grad` stays as it is
    cdef readonly bint relu   # relu, which our kernels apply themselves
    cdef readonly bint apart  # another activation, which `apply` applies afterwards
    # out = act(out)
    cdef void apply_in_place(self, void* out) noexcept nogil  # out = act(out)
    # The gradient before the activation: `grad` itself, or, if `nbytes` were requested, `space`,
    # filled with grad * act'(out).
    cdef void* mask_gradient(self, void* grad, const void* out, void* space) noexcept nogil
    # `gradient` for a matrix of `columns`, and its sums over the rows: written or added to `sums`.
    cdef void* mask_and_sum_columns(self, void* grad, const void* out, void* space, int64_t columns,
                                    float* sums, bint add) noexcept nogil
    cdef void _mask_columns(self, const float* grad, const float* out, float* space, int64_t rows,
                            int64_t columns, int64_t begin, int64_t end, float* sums,
                            bint add) noexcept nogil
