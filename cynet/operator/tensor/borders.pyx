# distutils: extra_compile_args = -O1
"""BordersOperator: an array with borders made of its own elements."""

from libc.stdint cimport int64_t
from libc.string cimport memset

from ..._typedefs cimport TBlob, dtype_size, kAddTo, kNullOp
from ...kernels.movement.index cimport run_borders
from .._base cimport Operator, OpContext

from ...base.dtype import dtype_flag


cdef class BordersOperator(Operator):
    """The input with (before, after) `widths` around each axis but the first, which has none: the
    nearest element again, or, with `reflect`, the elements mirrored at the edge."""

    cdef int64_t dst_shape[8]
    cdef int64_t src_shape[8]
    cdef int64_t before[8]
    cdef int ndim, dtype
    cdef bint reflect
    cdef readonly tuple described  # (dtype, shape, widths, reflect), for the form on a GPU

    def __cinit__(self, dtype, shape, list widths, bint reflect):
        self.dtype, self.ndim, self.reflect = dtype_flag(dtype), len(shape), reflect
        self.described = dtype, tuple(shape), widths, reflect
        for i, (n, (before, after)) in enumerate(zip(shape, widths)):
            self.src_shape[i], self.before[i] = n, before
            self.dst_shape[i] = before + n + after

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] != kNullOp:
            run_borders(self.dtype, False, req[0] == kAddTo, self.ndim, self.reflect,
                        self.dst_shape, self.src_shape, self.before, in_data[0].data,
                        out_data[0].data)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if req[0] != kAddTo:
            memset(in_grad[0].data, 0, in_grad[0].size * dtype_size(self.dtype))
        run_borders(self.dtype, True, True, self.ndim, self.reflect, self.dst_shape,
                    self.src_shape, self.before, in_grad[0].data, out_grad[0].data)
        return 0
