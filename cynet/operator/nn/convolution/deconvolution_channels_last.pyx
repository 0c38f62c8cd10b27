# cython: wraparound=True
"""Deconvolution of channels-last float32 data: a convolution whose forward and whose gradient of
data have changed places.

Shapes as in deconvolution.pyx; data and out lie in channels-last order. The convolution's data are
our out, its out our data, its weight our weight, (C, num_filter / num_group, *kernel).
"""

from libc.stdint cimport int64_t

from ...._resource cimport get_space
from ...._typedefs cimport TBlob, kAddTo, kNullOp
from ....kernels.conv.onednn cimport Chain
from ....kernels.parallel cimport threads_for
from ....kernels.gemm.small cimport (
    WindowShape, spread_pack, spread_packed_size, spread_packs, spread_space, window_spread
)
from ....kernels.reduce.row_sums cimport spread_rows, sum_rows
from ..._base cimport Operator, OpContext
from .own cimport OwnConvolution
from .direct cimport shape_of, spreads_data

from math import prod

from ...property import OperatorProperty
from .channels_last import ChannelsLastConvolution
from .deconvolution import DeconvolutionHooks, DeconvolutionProperty


class ChannelsLastDeconvolutionHooks(DeconvolutionHooks):
    """A packed weight."""

    def weight_shape(self, prop, in_shapes):
        return prop.weight_shape or in_shapes[1]

    def prepack(self, prop, in_shapes, in_types, replaces):
        cdef WindowShape shape
        data = in_shapes[0]
        if (prop.weight_shape is not None or len(prop.kernel) != 2
                or prop.num_group > 1):
            return None
        convolution, out = prop.mirrored(data), prop.out_shape(data)
        shape = shape_of(convolution, out, data)
        if not spread_packs(&shape) or prop.own_operator(data, out) is not None:
            return None
        size = spread_packed_size(&shape)
        return (PackSpreadWeight(convolution, out, data, size),
                prop.changed(weight_shape=in_shapes[1]), size)


class ChannelsLastDeconvolution(DeconvolutionProperty):
    """Deconvolution on channels-last data; `weight_shape` is the shape of a weight that the pack
    pass has packed."""

    op_name = "Deconvolution"
    graph = ChannelsLastDeconvolutionHooks(prefers_channels_last=True)
    weight_shape = None

    def infer_shape(self, in_shapes, out_shapes):
        if self.weight_shape is not None:
            in_shapes = [in_shapes[0], self.weight_shape, *in_shapes[2:]]
        return super().infer_shape(in_shapes, out_shapes)

    def out_shape(self, data):
        """The shape of the output for data of this shape."""
        sizes = (self.geometry(axis, size)[0] for axis, size in enumerate(data[2:]))
        return (data[0], self.num_filter, *sizes)

    def mirrored(self, data):
        """The property of the convolution from out to data; None where target_shape cuts off so
        much that a convolution would have more windows."""
        pad = tuple(self.geometry(axis, size)[1] for axis, size in enumerate(data[2:]))
        convolution = ChannelsLastConvolution(
            kernel=self.kernel, stride=self.window[0], dilate=self.window[1], pad=pad,
            num_filter=data[1], num_group=self.num_group, no_bias=True)
        sizes = [convolution.output_size(axis, size)
                 for axis, size in enumerate(self.out_shape(data)[2:])]
        return convolution if sizes == list(data[2:]) else None

    def create_operator(self, ctx, in_shapes, in_types):
        data = in_shapes[0]
        convolution, out = self.mirrored(data), self.out_shape(data)
        if self.weight_shape is not None:
            return SpreadDeconvolution(self, data, out)
        return self.own_operator(data, out) or PrimitiveDeconvolution(
            self, data, out, convolution.primitives([out, in_shapes[1]]))

    def own_operator(self, data, out):
        """An operator by kernels of our own, as ChannelsLastConvolution's."""
        own = self.mirrored(data).own_operator(out, data)
        return None if own is None else OwnDeconvolution(self, data, out, own)


class PackSpreadWeight(OperatorProperty):
    """The weight of a deconvolution whose windows are spread, in the form that takes; made by the
    pack pass, always written."""

    op_name = "_pack_weight"

    def __init__(self, convolution, data, out, size):
        super().__init__()
        self.convolution, self.shapes, self.size = convolution, (data, out), size

    def list_arguments(self):
        return ["weight"]

    def infer_shape(self, in_shapes, out_shapes):
        return in_shapes, [(self.size,)], []

    def create_operator(self, ctx, in_shapes, in_types):
        return SpreadPack(self.convolution, *self.shapes)


cdef class SpreadPack(Operator):
    cdef WindowShape shape

    def __init__(self, convolution, data, out):
        self.shape = shape_of(convolution, data, out)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        spread_pack(&self.shape, <const float*>in_data[0].data, threads_for(in_data[0].size * 4),
                    <float*>out_data[0].data)
        return 0


cdef class ChannelsLastDeconv(Operator):
    """Requests and the bias; subclasses compute the three products."""

    cdef bint has_bias
    cdef int64_t rows, filters, out_size, data_size, weight_size

    def __init__(self, prop, data, out):
        self.has_bias, self.filters = not prop.no_bias, out[1]
        self.rows = prod(out) // out[1]
        self.out_size, self.data_size = prod(out), prod(data)
        self.weight_size = data[1] * (out[1] // prop.num_group) * prod(prop.kernel)

    cdef int make(self, OpContext* ctx, const TBlob* in_data, float* out,
                  bint add) except -1 nogil:
        return 0

    cdef int gradients(self, OpContext* ctx, void* grad, const TBlob* in_data, const int* req,
                       TBlob* in_grad) except -1 nogil:
        return 0

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef float* out = <float*>out_data[0].data
        if req[0] == kNullOp:
            return 0
        self.make(ctx, in_data, out, req[0] == kAddTo)
        if self.has_bias:
            spread_rows(<const float*>in_data[2].data, self.rows, self.filters, out, True)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if self.has_bias and req[2] != kNullOp:
            sum_rows(<const float*>out_grad[0].data, self.rows, self.filters,
                     <float*>in_grad[2].data, req[2] == kAddTo)
        return self.gradients(ctx, out_grad[0].data, in_data, req, in_grad)


cdef class OwnDeconvolution(ChannelsLastDeconv):
    """By kernels of our own."""

    cdef OwnConvolution convolution

    def __init__(self, prop, data, out, convolution):
        super().__init__(prop, data, out)
        self.convolution = convolution

    cdef int make(self, OpContext* ctx, const TBlob* in_data, float* out,
                  bint add) except -1 nogil:
        cdef int threads = threads_for(self.convolution.work)
        cdef char* space = <char*>get_space(&ctx.requested[0],
                                            self.convolution.scratch(threads, True))
        self.convolution.run_backward_data(
            <const float*>in_data[1].data, <const float*>in_data[0].data, out, add, threads, space)
        return 0

    cdef int gradients(self, OpContext* ctx, void* grad, const TBlob* in_data, const int* req,
                       TBlob* in_grad) except -1 nogil:
        cdef int threads = threads_for(self.convolution.work)
        cdef size_t need = max(self.convolution.scratch(threads, False),
                               self.convolution.scratch(threads, True))
        cdef char* space = <char*>get_space(&ctx.requested[0], need)
        if req[1] != kNullOp:
            self.convolution.run_backward_weight(
                <const float*>grad, <const float*>in_data[0].data, <float*>in_grad[1].data,
                req[1] == kAddTo, threads, space)
        if req[0] != kNullOp:
            self.convolution.run_forward(
                <const float*>grad, <const float*>in_data[1].data, NULL, <float*>in_grad[0].data,
                req[0] == kAddTo, threads, space)
        return 0


cdef class SpreadDeconvolution(ChannelsLastDeconv):
    """By windows that data's pixels make with packed weights; there is no backward."""

    cdef WindowShape window

    def __init__(self, prop, data, out):
        super().__init__(prop, data, out)
        self.window = shape_of(prop.mirrored(data), out, data)

    cdef int make(self, OpContext* ctx, const TBlob* in_data, float* out,
                  bint add) except -1 nogil:
        cdef int64_t each = self.weight_size // self.window.filters
        cdef int threads = threads_for(self.data_size * each // 8)
        window_spread(&self.window, <const float*>in_data[1].data, True,
                      <const float*>in_data[0].data, out, add, threads,
                      <char*>get_space(&ctx.requested[0],
                                       spread_space(&self.window, threads, True)))
        return 0


cdef class PrimitiveDeconvolution(ChannelsLastDeconv):
    """By oneDNN, but for an output of few channels."""

    cdef object primitives
    cdef Chain out, data_grad, weight_grad
    cdef WindowShape window
    cdef readonly bint spreads  # out of few channels

    def __init__(self, prop, data, out, primitives):
        super().__init__(prop, data, out)
        self.stateful, self.primitives = True, primitives
        self.spreads = spreads_data(prop.mirrored(data), out, data, &self.window)
        if not self.spreads:
            self.out = primitives.backward_data()

    def prepare_backward(self):
        """Make the primitives that only backward needs."""
        self.data_grad = self.primitives.forward()
        self.weight_grad = self.primitives.backward_weight()

    cdef int make(self, OpContext* ctx, const TBlob* in_data, float* out,
                  bint add) except -1 nogil:
        cdef void* tensors[3]
        cdef int threads = threads_for(self.data_size * self.filters)
        if self.spreads:
            window_spread(&self.window, <const float*>in_data[1].data, False,
                          <const float*>in_data[0].data, out, add, threads,
                          <char*>get_space(&ctx.requested[0],
                                           spread_space(&self.window, threads, False)))
            return 0
        tensors[0], tensors[1], tensors[2] = in_data[0].data, in_data[1].data, out
        return self.out.run_to(tensors, self.out_size, add,
                               get_space(&ctx.requested[0], self.out.room(self.out_size, add)))

    cdef int gradients(self, OpContext* ctx, void* grad, const TBlob* in_data, const int* req,
                       TBlob* in_grad) except -1 nogil:
        cdef void* tensors[3]
        cdef size_t need
        cdef void* space
        if <void*>self.data_grad == <void*>None:  # the first time
            with gil:
                self.prepare_backward()
        need = max(self.data_grad.room(self.data_size, req[0] == kAddTo),
                   self.weight_grad.room(self.weight_size, req[1] == kAddTo))
        space = get_space(&ctx.requested[0], need)
        if req[1] != kNullOp:
            tensors[0], tensors[1], tensors[2] = in_data[0].data, grad, in_grad[1].data
            self.weight_grad.run_to(tensors, self.weight_size, req[1] == kAddTo, space)
        if req[0] != kNullOp:
            tensors[0], tensors[1], tensors[2] = grad, in_data[1].data, in_grad[0].data
            self.data_grad.run_to(tensors, self.data_size, req[0] == kAddTo, space)
        return 0
