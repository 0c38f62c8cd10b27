# cython: wraparound=True
"""Convolution of channels-last float32 data by oneDNN, with an activation folded in.

out = act(bias + data * weight); data and out (N, C, *size) in channels-last order, weight and bias
as Convolution has them: weights are brought into the order the primitive likes at every run.
"""

from libc.stdint cimport int64_t

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.elementwise cimport Kernel, run_unary
from ...kernels.onednn cimport Chain
from ...kernels.unary cimport find_unary
from .._base cimport Operator, OpContext
from .folded cimport FoldedActivation, aligned_floats

from math import prod

from ...kernels import onednn
from . import convolution_window, convolution_winograd, fully_connected_products
from .convolution import ConvolutionProperty


class ChannelsLastConvolution(ConvolutionProperty):
    """Convolution on channels-last data; `activation` is an act_type that the fuse pass adds."""

    op_name = "Convolution"
    prefers_channels_last = True
    activation = None

    def with_activation(self, act_type, in_types):
        known = self.activation is None and onednn.has_activation(act_type)
        return self.changed(activation=act_type) if known else None

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        needed = [out_grad[0], in_data[0], in_data[1]]
        return needed if self.activation is None else [*needed, out_data[0]]

    def create_operator(self, ctx, in_shapes, in_types):
        _, (out,), _ = self.infer_shape(in_shapes, [None])
        if self._is_product and fully_connected_products.suits(
                prod(out) // out[1], in_shapes[0][1], out[1]):
            return fully_connected_products.ProductFullyConnected(
                self, prod(out) // out[1], in_shapes[0][1], out[1])
        if convolution_window.suits(self, in_shapes[0], out):
            return convolution_window.WindowConvolution(self, in_shapes[0], out)
        if convolution_winograd.suits(self, in_shapes[0]):
            return convolution_winograd.WinogradConvolution(self, in_shapes[0], out)
        return ChannelsLastConv(self, in_shapes[0], in_shapes[1], out)

    @property
    def _is_product(self):
        """True for one product of all pixels by the weights: 1x1, no stride, no pad."""
        stride, _, pad = self.window
        return self.num_group == 1 and set((*self.kernel, *stride)) == {1} and not any(pad)


cdef class ChannelsLastConv(Operator):
    cdef object primitives
    cdef Chain out, data_grad, weight_grad
    cdef FoldedActivation activation
    cdef bint has_bias
    cdef Kernel add
    cdef int64_t out_size, data_size, weight_size, filters

    def __init__(self, prop, data, weight, out):
        self.stateful = True
        groups = prop.num_group
        self.has_bias = not prop.no_bias
        self.add = find_unary(b"identity", kFloat32, True)
        self.out_size, self.data_size, self.weight_size = prod(out), prod(data), prod(weight)
        self.filters = out[1]
        self.activation = FoldedActivation(prop.activation, self.out_size)
        if groups > 1:
            weight = (groups, weight[0] // groups, *weight[1:])
        stride, dilate, pad = prop.window
        self.primitives = onednn.Convolution(data, weight, out, stride, dilate, pad, self.has_bias)
        self.out = self.primitives.forward(prop.activation)

    def prepare_backward(self):
        """Make the primitives that only backward needs."""
        self.data_grad = self.primitives.backward_data()
        self.weight_grad = self.primitives.backward_weight()

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef void* tensors[4]
        cdef int n = 2
        cdef size_t kept = 0
        cdef char* space
        if req[0] == kNullOp:
            return 0
        if req[0] == kAddTo:
            kept = aligned_floats(self.out_size)
        space = <char*>get_space(&ctx.requested[0], kept + self.out.scratch_bytes)
        tensors[0], tensors[1] = in_data[0].data, in_data[1].data
        if self.has_bias:
            tensors[2] = in_data[2].data
            n = 3
        tensors[n] = space if kept else out_data[0].data
        self.out.run(tensors, space + kept)
        if kept:
            run_unary(&self.add, space, out_data[0].data, self.out_size)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef bint weights = req[1] != kNullOp or (self.has_bias and req[2] != kNullOp)
        cdef size_t masked = self.activation.nbytes
        cdef size_t kept = aligned_floats(self.data_size) if req[0] == kAddTo else 0
        cdef size_t kept_weight = aligned_floats(self.weight_size)
        cdef size_t kept_bias = aligned_floats(self.filters)
        cdef size_t need = 0, scratch
        cdef char* space
        cdef void* tensors[4]
        cdef int n = 2
        if <void*>self.data_grad == <void*>None:  # the first time
            with gil:
                self.prepare_backward()
        if req[0] != kNullOp:
            need = kept + self.data_grad.scratch_bytes
        if weights:
            scratch = kept_weight + kept_bias + self.weight_grad.scratch_bytes
            need = scratch if scratch > need else need
        space = <char*>get_space(&ctx.requested[0], masked + need)
        tensors[0] = self.activation.gradient(out_grad[0].data, out_data[0].data, space)
        space += masked
        if weights:
            tensors[1] = in_data[0].data
            if self.has_bias:
                tensors[2] = in_grad[2].data if _writes(req[2]) else space + kept_weight
                n = 3
            tensors[n] = in_grad[1].data if _writes(req[1]) else space
            self.weight_grad.run(tensors, space + kept_weight + kept_bias)
            if req[1] == kAddTo:
                run_unary(&self.add, space, in_grad[1].data, self.weight_size)
            if self.has_bias and req[2] == kAddTo:
                run_unary(&self.add, space + kept_weight, in_grad[2].data, self.filters)
        if req[0] != kNullOp:
            tensors[1] = in_data[1].data
            tensors[2] = space if kept else in_grad[0].data
            self.data_grad.run(tensors, space + kept)
            if kept:
                run_unary(&self.add, space, in_grad[0].data, self.data_size)
        return 0


cdef inline bint _writes(int req) noexcept nogil:
    return req != kNullOp and req != kAddTo
