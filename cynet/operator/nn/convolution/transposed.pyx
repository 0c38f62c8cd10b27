# cython: wraparound=True
"""Deconvolution of channels-last float32 data: a convolution whose forward and whose gradient of
data are swapped.

Sizes are those of a ConvDesc (select.py): its data are our out, its out our data; both lie in
channels-last order.
"""

from libc.stdint cimport int64_t

from ...._resource cimport get_space
from ...._typedefs cimport TBlob, kAddTo, kNullOp
from ....kernels.conv.onednn cimport ReorderedPrimitive
from ....kernels.conv.onednn_weight cimport WeightGradient
from ....kernels.parallel cimport threads_for
from ....kernels.gemm.small cimport (
    ConvWindow, scatter_pack_w, scatter_packed_size, scatter_workspace_bytes, scatter_windows
)
from ....kernels.reduce.row_sums cimport broadcast_rows, sum_rows
from ..._base cimport Operator, OpContext
from .own cimport OwnConvolution
from .direct cimport conv_window_of

from math import prod

from .onednn import make_conv_primitives, make_weight_gradient


def packed_float_count(desc):
    """Floats of a weight packed by ScatterPack."""
    cdef ConvWindow shape = conv_window_of(desc)
    return scatter_packed_size(&shape)


cdef class ScatterPack(Operator):  # packs a weight for scattering
    cdef ConvWindow shape

    def __init__(self, desc):
        self.shape = conv_window_of(desc)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        scatter_pack_w(&self.shape, <const float*>in_data[0].data, threads_for(in_data[0].size * 4),
                       <float*>out_data[0].data)
        return 0


cdef class ChannelsLastDeconv(Operator):  # base of deconvolutions
    """Base class, which handles requests and the bias; subclasses compute the three products."""

    cdef bint has_bias
    cdef int64_t rows, filters, out_size, data_size, weight_size

    def __init__(self, desc):
        self.has_bias, self.filters = desc.bias, desc.channels
        self.out_size, self.data_size = prod(desc.data), prod(desc.out)
        self.rows = self.out_size // self.filters
        self.weight_size = desc.filters * (desc.channels // desc.groups) * desc.taps

    cdef int compute_out(self, OpContext* ctx, const TBlob* in_data, float* out,
                         bint add) except -1 nogil:
        return 0

    cdef int compute_gradients(self, OpContext* ctx, void* grad, const TBlob* in_data,
                               const int* req, TBlob* in_grad) except -1 nogil:
        return 0

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef float* out = <float*>out_data[0].data
        if req[0] == kNullOp:
            return 0
        self.compute_out(ctx, in_data, out, req[0] == kAddTo)
        if self.has_bias:
            broadcast_rows(<const float*>in_data[2].data, self.rows, self.filters, out, True)
        return 0

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if self.has_bias and req[2] != kNullOp:
            sum_rows(<const float*>out_grad[0].data, self.rows, self.filters,
                     <float*>in_grad[2].data, req[2] == kAddTo)
        return self.compute_gradients(ctx, out_grad[0].data, in_data, req, in_grad)


cdef class OwnDeconvolution(ChannelsLastDeconv):
    """Deconvolution by kernels of our own."""

    cdef readonly OwnConvolution convolution

    def __init__(self, desc, convolution):
        super().__init__(desc)
        self.convolution = convolution

    cdef int compute_out(self, OpContext* ctx, const TBlob* in_data, float* out,
                         bint add) except -1 nogil:
        cdef int threads = threads_for(self.convolution.work)
        cdef char* space = <char*>get_space(&ctx.requested[0],
                                            self.convolution.scratch_bytes(threads, True))
        self.convolution.run_backward_data(
            <const float*>in_data[1].data, <const float*>in_data[0].data, out, add, threads, space)
        return 0

    cdef int compute_gradients(self, OpContext* ctx, void* grad, const TBlob* in_data,
                               const int* req, TBlob* in_grad) except -1 nogil:
        cdef int threads = threads_for(self.convolution.work)
        cdef size_t need = max(self.convolution.scratch_bytes(threads, False),
                               self.convolution.scratch_bytes(threads, True))
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


cdef class OnednnDeconvolution(ChannelsLastDeconv):
    """Deconvolution by oneDNN; with `scatters` out is the sum of the windows of data's pixels, from
    a packed weight if ``desc.packed``, which is for predictions."""

    cdef object desc, primitives
    cdef ReorderedPrimitive out, data_grad
    cdef WeightGradient weight_grad
    cdef ConvWindow window
    cdef readonly bint scatters
    cdef bint packed

    def __init__(self, desc, scatters):
        super().__init__(desc)
        self.stateful, self.scatters, self.packed = True, scatters, desc.packed
        self.desc, self.primitives = desc, make_conv_primitives(desc)
        if scatters:
            self.window = conv_window_of(desc)
        else:
            self.out = self.primitives.make_backward_data()

    def prepare_backward(self):
        """Make the primitives that only backward needs."""
        self.data_grad = self.primitives.make_forward()
        self.weight_grad = make_weight_gradient(self.desc)

    cdef int compute_out(self, OpContext* ctx, const TBlob* in_data, float* out,
                         bint add) except -1 nogil:
        cdef void* tensors[3]
        cdef int64_t work = self.data_size * self.filters
        cdef int threads
        if self.scatters:
            if self.packed:
                work = self.data_size * (self.weight_size // self.window.filters) // 8
            threads = threads_for(work)
            scatter_windows(&self.window, <const float*>in_data[1].data, self.packed,
                            <const float*>in_data[0].data, out, add, threads,
                            <char*>get_space(
                               &ctx.requested[0],
                               scatter_workspace_bytes(&self.window, threads, self.packed)))
            return 0
        tensors[0], tensors[1], tensors[2] = in_data[0].data, in_data[1].data, out
        return self.out.run_or_add(tensors, self.out_size, add,
                                   get_space(&ctx.requested[0],
                                             self.out.workspace(self.out_size, add)))

    cdef int compute_gradients(self, OpContext* ctx, void* grad, const TBlob* in_data,
                               const int* req, TBlob* in_grad) except -1 nogil:
        cdef void* tensors[3]
        cdef size_t need
        cdef char* space
        if <void*>self.data_grad == <void*>None:  # the first time
            with gil:
                self.prepare_backward()
        need = max(self.data_grad.workspace(self.data_size, req[0] == kAddTo),
                   self.weight_grad.scratch_bytes)
        space = <char*>get_space(&ctx.requested[0], need)
        if req[1] != kNullOp:
            self.weight_grad.run(in_data[0].data, grad, in_grad[1].data, req[1] == kAddTo, NULL,
                                 False, space)
        if req[0] != kNullOp:
            tensors[0], tensors[1], tensors[2] = grad, in_data[1].data, in_grad[0].data
            self.data_grad.run_or_add(tensors, self.data_size, req[0] == kAddTo, space)
        return 0
