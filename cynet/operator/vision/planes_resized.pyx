# cython: wraparound=True
"""Operator of AdaptiveAvgPooling2D and BilinearResize2D: planes of data (N, C, H, W) resized."""

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.vision.resize cimport ResizeShape, resize, resize_space, resize_threads
from .._base cimport Operator, OpContext
from .regions cimport clear


cdef class ResizeOperator(Operator):
    """`means`: means of windows; else bilinear interpolation. A second input gives its size
    only."""

    cdef ResizeShape shape
    cdef bint means, like

    def __init__(self, data, out, bint means, bint align_corners=True, bint like=False):
        cdef ResizeShape* s = &self.shape
        s.planes = data[0] * data[1]
        s.in_size[0], s.in_size[1] = data[2:]
        s.out_size[0], s.out_size[1] = out[2:]
        s.align_corners = align_corners
        self.means, self.like = means, like

    cdef int _run(self, OpContext* ctx, bint backwards, const TBlob* source, TBlob* to,
                  int req) except -1 nogil:
        cdef int threads = resize_threads(&self.shape)
        if req != kNullOp:
            resize(source.dtype, &self.shape, self.means, backwards, source.data, to.data,
                   req == kAddTo, threads,
                   get_space(&ctx.requested[0], resize_space(&self.shape, threads)))
        return 0

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        return self._run(ctx, False, &in_data[0], &out_data[0], req[0])

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if self.like:
            clear(&in_grad[1], req[1])
        return self._run(ctx, True, &out_grad[0], &in_grad[0], req[0])
