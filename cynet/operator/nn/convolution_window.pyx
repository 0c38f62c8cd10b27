# cython: wraparound=True
"""Convolution of small channels-last float32 images by products of the taps that lie inside.

As ChannelsLastConvolution says, with no activation or relu (kernels/products.h).
"""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.parallel cimport threads_for
from ...kernels.products cimport (WindowShape, window_backward_data, window_backward_weight,
                                  window_forward, window_space, window_suits)
from ...kernels.reduce_rows cimport sum_rows
from .._base cimport Operator, OpContext
from .folded cimport FoldedActivation

from ...kernels.dispatch import cpu_capability


cdef WindowShape _shape_of(prop, data, out) except *:
    cdef WindowShape s
    s.batch, s.channels, s.height, s.width = data
    _, s.filters, s.out_height, s.out_width = out
    s.kernel_h, s.kernel_w = prop.kernel
    (s.stride_h, s.stride_w), (s.dilate_h, s.dilate_w), (s.pad_h, s.pad_w) = prop.window
    return s


def suits(prop, data, out):
    """True when this is the quickest way for a convolution of these shapes (N, C, H, W)."""
    cdef WindowShape s
    if (len(prop.kernel) != 2 or prop.num_group != 1 or prop.activation not in (None, "relu")
            or cpu_capability() == "baseline"):
        return False
    s = _shape_of(prop, data, out)
    return window_suits(&s)


cdef class WindowConvolution(Operator):
    cdef WindowShape shape
    cdef bint has_bias, relu
    cdef FoldedActivation activation
    cdef int64_t rows, work

    def __init__(self, prop, data, out):
        self.shape = _shape_of(prop, data, out)
        self.has_bias, self.relu = not prop.no_bias, prop.activation == "relu"
        self.rows = out[0] * out[2] * out[3]
        self.activation = FoldedActivation(prop.activation, self.rows * self.shape.filters)
        self.work = self.rows * self.shape.filters * self.shape.channels

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int threads = threads_for(self.work)
        if req[0] == kNullOp:
            return 0
        window_forward(&self.shape, <const float*>in_data[0].data, <const float*>in_data[1].data,
                       <const float*>(in_data[2].data if self.has_bias else NULL), self.relu,
                       <float*>out_data[0].data, req[0] == kAddTo, threads,
                       <char*>get_space(&ctx.requested[0],
                                        window_space(&self.shape, threads, False)))
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int threads = threads_for(self.work)
        cdef size_t masked = self.activation.nbytes
        cdef char* space = <char*>get_space(
            &ctx.requested[0], masked + window_space(&self.shape, threads, True))
        cdef const float* grad = <const float*>self.activation.gradient(
            out_grad[0].data, out_data[0].data, space)
        if req[1] != kNullOp:
            window_backward_weight(&self.shape, <const float*>in_data[0].data, grad,
                                   <float*>in_grad[1].data, req[1] == kAddTo, threads,
                                   space + masked)
        if self.has_bias and req[2] != kNullOp:
            sum_rows(grad, self.rows, self.shape.filters, <float*>in_grad[2].data,
                     req[2] == kAddTo)
        if req[0] != kNullOp:
            window_backward_data(&self.shape, <const float*>in_data[1].data, grad,
                                 <float*>in_grad[0].data, req[0] == kAddTo, threads,
                                 space + masked)
        return 0
