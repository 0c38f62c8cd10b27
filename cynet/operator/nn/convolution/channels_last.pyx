# cython: wraparound=True
"""Convolution of channels-last float32 data by oneDNN, with an activation folded in.

out = act(bias + data * weight); data and out (N, C, *size) in channels-last order, weight and bias
as Convolution has them: weights are brought into the order the primitive likes at every run, or
once by the pack pass.
"""

from libc.stdint cimport int64_t

from ...._resource cimport get_space
from ...._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ....kernels.elementwise.elementwise cimport Kernel, run_unary
from ....kernels.conv.onednn cimport Chain, Primitive
from ....kernels.parallel cimport threads_for
from ....kernels.gemm.small cimport (
    WindowShape, spread_space, window_channel_weight, window_goes_by_channel, window_spread
)
from ....kernels.elementwise.unary cimport find_unary
from ..._base cimport Operator, OpContext
from .direct cimport shape_of, spreads_data
from ..fused_activation cimport FoldedActivation, aligned_floats

from math import prod

from ....kernels.conv import onednn
from ...property import OperatorProperty, ResourceRequest
from . import direct, winograd
from ..fully_connected import gemm
from ...tensor.strided_moves import contiguous, sliced
from .convolution import ConvolutionProperty
from ..fused_activation import FoldsActivation, FoldsActivationHooks


# Outputs of a filter from which on reordering a weight, at about 1 ns an element, takes less than a
# twentieth of the time of its products.
MANY_PIXELS = 2048


class ChannelsLastConvolutionHooks(FoldsActivationHooks):
    """An activation, a mask and a packed weight."""

    def applies(self, act_type, in_types):
        return onednn.has_activation(act_type)

    def masks(self, prop, in_shapes, in_types):
        return prop._suits_product(in_shapes)

    def weight_shape(self, prop, in_shapes):
        return prop.weight_shape or in_shapes[1]

    def prepack(self, prop, in_shapes, in_types, replaces):
        if prop.weight_shape is not None:
            return None
        packed = prop.changed(weight_shape=in_shapes[1])
        pack = PackWeight(packed, in_shapes)
        (out,) = prop.output_shapes(in_shapes)
        many = out[0] * prod(out[2:]) > MANY_PIXELS and not replaces and not pack.by_winograd
        return None if pack.size is None or many else (pack, packed, pack.size)


class ChannelsLastConvolution(FoldsActivation, ConvolutionProperty):
    """Convolution on channels-last data; `weight_shape` is the shape of a weight that the pack pass
    has packed."""

    op_name = "Convolution"
    graph = ChannelsLastConvolutionHooks(prefers_channels_last=True)
    weight_shape = None

    def infer_shape(self, in_shapes, out_shapes):
        if self.weight_shape is not None:
            in_shapes = [in_shapes[0], self.weight_shape, *in_shapes[2:]]
        return super().infer_shape(in_shapes, out_shapes)

    def primitives(self, in_shapes):
        """oneDNN's primitives of this convolution."""
        data, weight = in_shapes[0], self.weight_shape or in_shapes[1]
        (out,) = self.output_shapes([data, weight, *in_shapes[2:]])
        sizes = [data, weight, out]
        window = self.window
        if len(data) == 4 and data[3] == out[3] == self.kernel[1] == 1 and window[2][1] == 0:
            # columns of pixels: oneDNN's kernels work along rows, whose bytes are the same
            sizes = [(*shape[:2], 1, shape[2]) for shape in sizes]
            window = [values[::-1] for values in window]
        data, weight, out = sizes
        if self.num_group > 1:
            weight = (self.num_group, weight[0] // self.num_group, *weight[1:])
        stride, dilate, pad = window
        return onednn.Convolution(data, weight, out, stride, dilate, pad, not self.no_bias)

    def create_operator(self, ctx, in_shapes, in_types):
        weight = self.weight_shape or in_shapes[1]
        (out,) = self.output_shapes([in_shapes[0], weight, *in_shapes[2:]])
        if self._suits_product(in_shapes) or self.packed_product(in_shapes) is not None:
            return gemm.ProductFullyConnected(
                self, prod(out) // out[1], weight[1], out[1], self.weight_shape is not None,
                self._pixels(in_shapes[0]))
        return self.own_operator(in_shapes[0], out) or ChannelsLastConv(
            self, in_shapes, weight, out)

    def own_operator(self, data, out):
        """An operator by kernels of our own, for data and out of these shapes, where one of them
        is quicker than oneDNN; else None."""
        if self.weight_shape is None and direct.suits(self, data, out):
            return direct.WindowConvolution(self, data, out)
        if winograd.suits(self, data):
            return winograd.WinogradConvolution(self, data, out)
        return None

    def _suits_product(self, in_shapes):
        """Whether it is one product of all pixels by the weights (1x1, no stride, no pad), and best
        computed so."""
        product = self.weight_shape is None and self._is_product() and set(self.window[0]) == {1}
        return product and gemm.suits(*self._product_sizes(in_shapes))

    def packed_product(self, in_shapes):
        """Floats of the packed weight of such a product, or with a stride of one of the pixels that
        are read; None where it is not one, or not best with a packed weight."""
        if self.weight_shape is None or not self._is_product():
            return None
        return gemm.packed_size(*self._product_sizes(in_shapes))

    def _is_product(self):
        return self.num_group == 1 and set(self.kernel) == {1} and not any(self.window[2])

    def _product_sizes(self, in_shapes):
        data = in_shapes[0]
        return data[0] * prod(self._out_sizes(data)), data[1], self.num_filter

    def _out_sizes(self, data):
        return [self.output_size(axis, size) for axis, size in enumerate(data[2:])]

    def _pixels(self, data):
        """The View of the pixels that a 1x1 window reads of channels-last data; None: of all."""
        stride = self.window[0]
        if set(stride) == {1}:
            return None
        whole = contiguous((data[0], *data[2:], data[1]))
        return sliced(whole, (0,) * len(data), (1, *stride, 1),
                      (data[0], *self._out_sizes(data), data[1]))


class PackWeight(OperatorProperty):
    """The weight of `convolution`, a ChannelsLastConvolution that takes it packed, in that form;
    made by the pack pass, always written. `size` is the number of floats, None where packing is
    not needed, or not worth the memory that Winograd's form takes, 4 times that of 3x3."""

    op_name = "_pack_weight"

    def __init__(self, convolution, in_shapes):
        super().__init__()
        self.convolution, self.shapes = convolution, in_shapes
        self.size = convolution.packed_product(in_shapes)
        self.by_product = self.size is not None
        self.by_winograd = not self.by_product and winograd.suits(
            convolution, in_shapes[0])
        if self.by_winograd:
            self.size = winograd.packed_size(convolution, in_shapes[0])
        elif not self.by_product:
            packing = convolution.primitives(in_shapes).packing(
                convolution.activation, convolution.sums)
            self.size = None if packing is None else packing[0]

    def list_arguments(self):
        return ["weight"]

    def infer_shape(self, in_shapes, out_shapes):
        return in_shapes, [(self.size,)], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def create_operator(self, ctx, in_shapes, in_types):
        convolution = self.convolution
        if self.by_product:
            _, units, hidden = convolution._product_sizes(self.shapes)
            return gemm.PackProductWeight(units, hidden)
        if self.by_winograd:
            return winograd.WinogradPack(convolution, self.shapes[0])
        _, primitive = convolution.primitives(self.shapes).packing(
            convolution.activation, convolution.sums)
        return ReorderWeight(primitive)


cdef class ReorderWeight(Operator):
    cdef Primitive reorder

    def __init__(self, reorder):
        self.stateful, self.reorder = True, reorder

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef void* tensors[2]
        tensors[0], tensors[1] = in_data[0].data, out_data[0].data
        return self.reorder.run(tensors, get_space(&ctx.requested[0], self.reorder.scratch_bytes))

cdef class ChannelsLastConv(Operator):
    cdef object primitives
    cdef Chain out, data_grad, weight_grad
    cdef FoldedActivation activation
    cdef WindowShape window
    cdef bint has_bias, sums
    cdef bint by_channel  # the weights' gradient, each channel by itself
    cdef bint has_prepared
    cdef readonly bint spreads  # the gradient of data of few channels
    cdef Kernel add
    cdef int64_t out_size, data_size, weight_size, filters

    def __init__(self, prop, in_shapes, weight, out):
        self.stateful = True
        self.has_bias, self.sums = not prop.no_bias, prop.sums
        self.add = find_unary(b"identity", kFloat32, True)
        self.out_size, self.data_size = prod(out), prod(in_shapes[0])
        self.weight_size, self.filters = prod(weight), out[1]
        self.activation = FoldedActivation(prop, self.out_size)
        self.by_channel = False
        self.spreads = spreads_data(prop, in_shapes[0], out, &self.window)
        if len(prop.kernel) == 2 and prop.no_bias and prop.num_group == in_shapes[0][1] == out[1]:
            self.window = shape_of(prop, in_shapes[0], out)
            self.by_channel = window_goes_by_channel(&self.window)
        self.primitives = prop.primitives(in_shapes)
        self.out = self.primitives.forward(
            prop.activation, prop.weight_shape is not None, prop.sums)

    def prepare_backward(self):
        """Make the primitives that only backward needs."""
        if not self.spreads:
            self.data_grad = self.primitives.backward_data()
        if not self.by_channel:
            self.weight_grad = self.primitives.backward_weight()
        self.has_prepared = True  # last: the next run tries again what failed

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef void* tensors[4]
        cdef int n = 2
        cdef bint add = req[0] == kAddTo and not self.sums  # else the primitive adds
        cdef char* space
        if req[0] == kNullOp:
            return 0
        space = <char*>get_space(&ctx.requested[0], self.out.room(self.out_size, add))
        tensors[0], tensors[1] = in_data[0].data, in_data[1].data
        if self.has_bias:
            tensors[2] = in_data[2].data
            n = 3
        tensors[n] = out_data[0].data
        return self.out.run_to(tensors, self.out_size, add, space)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef bint weights = req[1] != kNullOp or (self.has_bias and req[2] != kNullOp)
        cdef size_t masked = self.activation.nbytes
        cdef size_t kept_weight = aligned_floats(self.weight_size)
        cdef size_t kept_bias = aligned_floats(self.filters)
        cdef size_t need = 0, scratch
        cdef char* space
        cdef void* tensors[4]
        cdef int n = 2, threads = threads_for(self.data_size * 8)
        if not self.has_prepared:
            with gil:
                self.prepare_backward()
        if req[0] != kNullOp:
            need = (spread_space(&self.window, threads, False) if self.spreads
                    else self.data_grad.room(self.data_size, req[0] == kAddTo))
        if weights and not self.by_channel:
            scratch = kept_weight + kept_bias + self.weight_grad.scratch_bytes
            need = scratch if scratch > need else need
        space = <char*>get_space(&ctx.requested[0], masked + need)
        tensors[0] = self.activation.gradient(out_grad[0].data, out_data[0].data, space)
        space += masked
        if weights and self.by_channel:
            window_channel_weight(&self.window, <const float*>in_data[0].data,
                                  <const float*>tensors[0], <float*>in_grad[1].data,
                                  req[1] == kAddTo, threads)
        elif weights:
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
        if req[0] != kNullOp and self.spreads:
            window_spread(&self.window, <const float*>in_data[1].data, False,
                          <const float*>tensors[0], <float*>in_grad[0].data, req[0] == kAddTo,
                          threads, space)
        elif req[0] != kNullOp:
            tensors[1] = in_data[1].data
            tensors[2] = in_grad[0].data
            self.data_grad.run_to(tensors, self.data_size, req[0] == kAddTo, space)
        return 0


cdef inline bint _writes(int req) noexcept nogil:
    return req != kNullOp and req != kAddTo
