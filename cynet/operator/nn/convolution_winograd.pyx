# cython: wraparound=True
"""Convolutions of 3x3 or 5x5, stride 1, on channels-last float32 data by Winograd's products.

out = act(bias + data * weight); shapes as in convolution_last.pyx. Fewer multiplications than a
direct convolution: see kernels/winograd.pxd.
"""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...kernels.parallel cimport threads_for
from ...kernels.reduce_rows cimport sum_rows
from ...kernels.winograd cimport (BACKWARD, FORWARD, PACKED, WinogradShape,
                                  winograd_backward_data, winograd_backward_weight,
                                  winograd_forward, winograd_pack, winograd_packed_size,
                                  winograd_packs, winograd_space, winograd_suits)
from .._base cimport Operator, OpContext
from .folded cimport FoldedActivation

from ...kernels.dispatch import cpu_capability


cdef WinogradShape _shape_of(prop, data) except *:
    cdef WinogradShape s
    s.batch, s.channels, s.height, s.width = data
    s.filters, s.kernel = prop.num_filter, prop.kernel[0]
    s.pad_h, s.pad_w = prop.window[2]
    return s


def suits(prop, data):
    """True when Winograd's way is the faster one for this convolution of `data`'s shape."""
    cdef WinogradShape s
    if (prop.kernel not in ((3, 3), (5, 5)) or prop.num_group != 1
            or prop.activation not in (None, "relu")
            or set((*prop.window[0], *prop.window[1])) != {1} or cpu_capability() == "baseline"):
        return False
    s = _shape_of(prop, data)
    return winograd_suits(&s, prop.weight_shape is not None)


def packed_size(prop, data):
    """Floats of the packed weights, or None where they are not worth their memory."""
    cdef WinogradShape s = _shape_of(prop, data)
    return winograd_packed_size(&s) if winograd_packs(&s) else None


cdef class WinogradPack(Operator):
    """Weights to packed weights."""

    cdef WinogradShape shape

    def __init__(self, prop, data):
        self.shape = _shape_of(prop, data)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        winograd_pack(&self.shape, <const float*>in_data[0].data,
                      threads_for(in_data[0].size * 4), <float*>out_data[0].data)
        return 0


cdef class WinogradConvolution(Operator):
    cdef WinogradShape shape
    cdef bint has_bias, relu, packed
    cdef FoldedActivation activation
    cdef int64_t rows, work

    def __init__(self, prop, data, out):
        self.shape = _shape_of(prop, data)
        self.has_bias, self.relu = not prop.no_bias, prop.activation == "relu"
        self.packed = prop.weight_shape is not None
        self.rows = out[0] * out[2] * out[3]
        self.activation = FoldedActivation(prop.activation, self.rows * self.shape.filters)
        self.work = self.rows * self.shape.filters * self.shape.channels

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int threads = threads_for(self.work)
        cdef char* space
        cdef bint add = req[0] == kAddTo
        if req[0] == kNullOp:
            return 0
        space = <char*>get_space(&ctx.requested[0], winograd_space(
            &self.shape, threads, PACKED if self.packed else FORWARD))
        winograd_forward(&self.shape, <const float*>in_data[0].data,
                         <const float*>in_data[1].data, self.packed,
                         <const float*>(in_data[2].data if self.has_bias else NULL),
                         self.relu, <float*>out_data[0].data, add, threads, space)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef int threads = threads_for(self.work)
        cdef size_t masked = self.activation.nbytes
        cdef char* space = <char*>get_space(
            &ctx.requested[0], masked + winograd_space(&self.shape, threads, BACKWARD))
        cdef const float* grad = <const float*>self.activation.gradient(
            out_grad[0].data, out_data[0].data, space)
        if req[1] != kNullOp:
            winograd_backward_weight(&self.shape, <const float*>in_data[0].data, grad,
                                     <float*>in_grad[1].data, req[1] == kAddTo, threads,
                                     space + masked)
        if self.has_bias and req[2] != kNullOp:
            sum_rows(grad, self.rows, self.shape.filters, <float*>in_grad[2].data,
                     req[2] == kAddTo)
        if req[0] != kNullOp:
            winograd_backward_data(&self.shape, <const float*>in_data[1].data, grad,
                                   <float*>in_grad[0].data, req[0] == kAddTo, threads,
                                   space + masked)
        return 0
