# cython: wraparound=True
"""Convolution of channels-last data by oneDNN, with an activation folded in.

out = act(bias + data * weight); sizes are those of a ConvDesc (select.py), data and out (N, C,
*size) in channels-last order; in bfloat16 also row-major, which the primitive reorders. A weight is
brought into the order that the primitive reads at every run, or comes prepacked.
"""

from libc.stdint cimport int64_t

from ...._resource cimport get_space
from ...._typedefs cimport TBlob, kAddTo, kNullOp
from ....kernels.conv.onednn cimport ReorderedPrimitive, Primitive
from ....kernels.conv.onednn_weight cimport WeightGradient
from ....kernels.parallel cimport threads_for
from ....kernels.gemm.small cimport (
    ConvWindow, scatter_workspace_bytes, window_depthwise_grad, scatter_windows
)
from ..._base cimport Operator, OpContext
from .direct cimport conv_window_of
from ..fused_activation cimport FoldedActivation

from math import prod

from ....kernels.conv.onednn import Convolution


def _primitive_arguments(desc):
    """The size arguments of Convolution and WeightGradient (of a deconvolution's convolution)."""
    data, out, kernel = desc.data, desc.out, desc.kernel
    bias = desc.bias and not desc.transposed
    sizes = [data, (desc.filters, desc.channels // desc.groups, *kernel), out]
    window = [desc.stride, desc.dilate, desc.pad]
    if len(data) == 4 and data[3] == out[3] == kernel[1] == 1 and desc.pad[1] == 0:
        # columns of pixels: oneDNN's kernels work along rows, whose bytes are the same
        sizes = [(*shape[:2], 1, shape[2]) for shape in sizes]
        window = [values[::-1] for values in window]
    data, weight, out = sizes
    if desc.groups > 1:
        weight = (desc.groups, weight[0] // desc.groups, *weight[1:])
    return data, weight, out, *window, bias, desc.dtype, desc.channels_last


def make_conv_primitives(desc):
    """oneDNN's primitives of a convolution, except the gradient of its weight."""
    return Convolution(*_primitive_arguments(desc))


def make_weight_gradient(desc):
    """oneDNN's gradient of a convolution's weight, a WeightGradient."""
    return WeightGradient(*_primitive_arguments(desc))


cdef class ReorderWeight(Operator):  # packs a weight by oneDNN
    cdef Primitive reorder

    def __init__(self, reorder):
        self.stateful, self.reorder = True, reorder

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef void* tensors[2]
        tensors[0], tensors[1] = in_data[0].data, out_data[0].data
        return self.reorder.run(tensors, get_space(&ctx.requested[0], self.reorder.scratch_bytes))


cdef class OnednnConvolution(Operator):
    """`scatters`: the data's gradient is computed by scattered windows; `by_channel`: the weight's
    gradient is computed for each channel separately, by our own loops."""

    cdef object desc, primitives
    cdef ReorderedPrimitive out, data_grad
    cdef WeightGradient weight_grad
    cdef FoldedActivation activation
    cdef ConvWindow window
    cdef bint has_bias, sums
    cdef readonly bint scatters, by_channel
    cdef bint has_prepared
    cdef int64_t out_size, data_size

    def __init__(self, desc, prop, scatters, by_channel):
        self.stateful = True
        self.has_bias, self.sums = not prop.no_bias, prop.sums
        self.out_size, self.data_size = prod(desc.out), prod(desc.data)
        self.activation = FoldedActivation(prop, self.out_size, desc.dtype)
        self.scatters, self.by_channel = scatters, by_channel
        if scatters or by_channel:
            self.window = conv_window_of(desc)
        self.desc, self.primitives = desc, make_conv_primitives(desc)
        self.out = self.primitives.make_forward(prop.activation, desc.packed, prop.sums)

    def prepare_backward(self):
        """Make the primitives that only backward needs."""
        if not self.scatters:
            self.data_grad = self.primitives.make_backward_data()
        if not self.by_channel:
            self.weight_grad = make_weight_gradient(self.desc)
        self.has_prepared = True  # set last: after a failure the next run tries again

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef void* tensors[4]
        cdef int n = 2
        cdef bint add = req[0] == kAddTo and not self.sums  # otherwise the primitive itself adds
        cdef char* space
        if req[0] == kNullOp:
            return 0
        space = <char*>get_space(&ctx.requested[0], self.out.workspace(self.out_size, add))
        tensors[0], tensors[1] = in_data[0].data, in_data[1].data
        if self.has_bias:
            tensors[2] = in_data[2].data
            n = 3
        tensors[n] = out_data[0].data
        return self.out.run_or_add(tensors, self.out_size, add, space)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef bint weights = req[1] != kNullOp or (self.has_bias and req[2] != kNullOp)
        cdef size_t masked = self.activation.nbytes
        cdef size_t need = 0
        cdef char* space
        cdef void* tensors[4]
        cdef int threads = threads_for(self.data_size * 8)
        if not self.has_prepared:
            with gil:
                self.prepare_backward()
        if req[0] != kNullOp:
            need = (scatter_workspace_bytes(&self.window, threads, False) if self.scatters
                    else self.data_grad.workspace(self.data_size, req[0] == kAddTo))
        if weights and not self.by_channel:
            need = max(need, self.weight_grad.scratch_bytes)
        space = <char*>get_space(&ctx.requested[0], masked + need)
        tensors[0] = self.activation.mask_gradient(out_grad[0].data, out_data[0].data, space)
        space += masked
        if weights and self.by_channel:
            window_depthwise_grad(&self.window, <const float*>in_data[0].data,
                                  <const float*>tensors[0], <float*>in_grad[1].data,
                                  req[1] == kAddTo, threads)
        elif weights:
            self.weight_grad.run(
                tensors[0], in_data[0].data, NULL if req[1] == kNullOp else in_grad[1].data,
                req[1] == kAddTo,
                NULL if not self.has_bias or req[2] == kNullOp else in_grad[2].data,
                self.has_bias and req[2] == kAddTo, space)
        if req[0] != kNullOp and self.scatters:
            scatter_windows(&self.window, <const float*>in_data[1].data, False,
                            <const float*>tensors[0], <float*>in_grad[0].data, req[0] == kAddTo,
                            threads, space)
        elif req[0] != kNullOp:
            tensors[1] = in_data[1].data
            tensors[2] = in_grad[0].data
            self.data_grad.run_or_add(tensors, self.data_size, req[0] == kAddTo, space)
        return 0
