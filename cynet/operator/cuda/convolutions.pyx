# cython: wraparound=True
"""GPU forms of Convolution and Deconvolution, by cuDNN."""

from libc.stddef cimport size_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp, kWriteTo
from ...cuda._device cimport SpaceFn
from ...cuda.libraries.cudnn_layers cimport Convolution, kForward, kToData, kToWeight
from .._base cimport Operator, OpContext
from .launch cimport DeviceOperator

from math import prod

from ...base import config
from ...cuda.libraries.cudnn import open_cudnn
from ..checks.dtypes import CPU_FLOATS, require_floats
from ..nn.convolution.convolution import ConvolutionProperty
from ..nn.convolution.deconvolution import DeconvolutionProperty
from .layout_adapter import for_every_layout
from .registry import register_form
from .launch_program import Steps, fold, operator
from .launch_steps import ADD, IN, IN_GRAD, OUT_GRAD, launch_each
from .kernel_args import C_TYPES, SIZEOF, axes_of, layout_args, strides_of

_UNLIMITED_BYTES = 1 << 62  # workspace limit of cudnn_tune "fastest"
_TUNE_MODES = ("off", "limited_workspace", "fastest")  # by CYNET_CUDNN_AUTOTUNE

cdef enum:
    PADDED_DATA = 0     # index of temporary memory: the copy of data with zeros
    LAYER_WORKSPACE = 1  # index of temporary memory: the layer's workspace


cdef class ConvolutionForm(Operator):  # Convolution or Deconvolution by cuDNN
    """A convolution, or with `transposed` a deconvolution: data and output are exchanged.

    `fit` copies the data of a transposed one into memory with zeros behind them, and its gradient
    back, where the layer takes more of them than there are.
    """

    cdef Convolution layer
    cdef bint transposed
    cdef DeviceOperator bias  # computes the bias's gradient in backward, or None
    cdef DeviceOperator fit
    cdef size_t fitted_bytes
    cdef SpaceFn space

    def __init__(self, layer, transposed, bias, device, fit=None, fitted_bytes=0):
        self.layer, self.transposed, self.bias = layer, transposed, bias
        self.fit, self.fitted_bytes = fit, fitted_bytes
        self.space = <SpaceFn><size_t>device.workspace_function_address

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if self.transposed:
            _run(self, ctx, kToData, in_data[1].data, _fitted(self, ctx, in_data), req[0],
                 out_data[0].data)
        else:
            _run(self, ctx, kForward, in_data[0].data, in_data[1].data, req[0], out_data[0].data)
        if self.bias is None:
            return 0
        return self.layer.add_bias(&ctx.run_ctx, in_data[2].data, out_data[0].data)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const void* g = out_grad[0].data
        cdef const void* weight = in_data[1].data
        if req[1] != kNullOp:
            if self.transposed:
                _run(self, ctx, kToWeight, g, _fitted(self, ctx, in_data), req[1], in_grad[1].data)
            else:
                _run(self, ctx, kToWeight, in_data[0].data, g, req[1], in_grad[1].data)
        if self.bias is not None:
            self.bias.run(1, ctx, in_data, out_data, out_grad, in_grad, aux_states, req)
        if req[0] == kNullOp:
            return 0
        if not self.transposed:
            return _run(self, ctx, kToData, weight, g, req[0], in_grad[0].data)
        if self.fit is None:
            return _run(self, ctx, kForward, g, weight, req[0], in_grad[0].data)
        _run(self, ctx, kForward, g, weight, kWriteTo, _padded_copy_memory(self, ctx))
        return self.fit.run(1, ctx, in_data, out_data, out_grad, in_grad, aux_states, req)


cdef void* _padded_copy_memory(ConvolutionForm self, OpContext* ctx) except NULL nogil:
    return self.space(ctx.run_ctx.dev_id, PADDED_DATA, self.fitted_bytes, ctx.run_ctx.stream)


cdef const void* _fitted(ConvolutionForm self, OpContext* ctx,
                         const TBlob* in_data) except? NULL nogil:
    """Return the address of data, or of a copy with zeros appended to the spatial axes."""
    if self.fit is None:
        return in_data[0].data
    self.fit.run(0, ctx, in_data, NULL, NULL, NULL, NULL, NULL)
    return _padded_copy_memory(self, ctx)


cdef int _run(ConvolutionForm self, OpContext* ctx, int direction, const void* a, const void* b,
              int req, void* out) except -1 nogil:
    cdef void* space = NULL
    self.layer.choose_algorithm(&ctx.run_ctx, direction)
    if self.layer.space[direction]:
        space = self.space(ctx.run_ctx.dev_id, LAYER_WORKSPACE, self.layer.space[direction],
                           ctx.run_ctx.stream)
    return self.layer.run(&ctx.run_ctx, direction, a, b, out, req == kAddTo, space)


def _new_cudnn_layer(prop, dtype, data, weight, out, stride, dilate, pad, transposed):
    tune = prop.cudnn_tune or _TUNE_MODES[int(config.get("CYNET_CUDNN_AUTOTUNE"))]
    limit = _UNLIMITED_BYTES if tune == "fastest" else prop.workspace << 20
    return Convolution(dtype, data, weight, out, stride, dilate, pad, prop.num_group, limit,
                       tune != "off", transposed)


def _bias_grad_kernel(prop, dtype, out, device):
    """The kernel that sums a bias's gradient over all axes of the output except the channels; None
    without one. cuDNN's takes a fifth of a training step of LeNet (0.086 ms on an H200, this sum
    0.018)."""
    if prop.no_bias:
        return None
    backward = Steps()
    walk = axes_of((out[0], out[1], prod(out[2:])), (0, 2))
    fold(backward, "sum", C_TYPES[dtype], OUT_GRAD[0], IN_GRAD[2], walk)
    return operator(device, Steps(), backward)


@register_form(ConvolutionProperty, checks=False)
@for_every_layout
def convolution(prop, in_shapes, in_types, device):
    """Build the form of Convolution: cuDNN's convolution over NCHW memory."""
    require_floats(prop, prop.list_arguments(), in_types, CPU_FLOATS)
    (out,) = prop.output_shapes(in_shapes)
    open_cudnn()
    layer = _new_cudnn_layer(prop, in_types[0], in_shapes[0], in_shapes[1], out, *prop.window,
                             False)
    return ConvolutionForm(layer, False, _bias_grad_kernel(prop, in_types[0], out, device), device)


@register_form(DeconvolutionProperty, checks=False)
@for_every_layout
def deconvolution(prop, in_shapes, in_types, device):
    """Build the form of Deconvolution: the data gradient of cuDNN's convolution."""
    require_floats(prop, prop.list_arguments(), in_types, CPU_FLOATS)
    data = in_shapes[0]
    (out,) = prop.output_shapes(in_shapes)
    pad = tuple(prop.geometry(axis, size)[1] for axis, size in enumerate(data[2:]))
    stride, dilate = prop.window[:2]
    # the shape of out's convolution: that of data, or larger where target_shape cuts unevenly
    windows = zip(out[2:], prop.kernel, stride, dilate, pad)
    whole = (*data[:2], *((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, d, p in windows))
    open_cudnn()
    layer = _new_cudnn_layer(prop, in_types[0], out, in_shapes[1], whole, stride, dilate, pad, True)
    bias = _bias_grad_kernel(prop, in_types[0], out, device)
    if whole == data:
        return ConvolutionForm(layer, True, bias, device)
    kind = C_TYPES[in_types[0]]
    forward, backward, nbytes = Steps(), Steps(), prod(whole) * SIZEOF[kind]
    space, backward_space = forward.reserve_bytes(nbytes), backward.reserve_bytes(nbytes)
    into = layout_args(data, strides_of(whole), strides_of(data))
    out_of = layout_args(data, strides_of(data), strides_of(whole))
    forward += launch_each(nbytes, "fill", "zero_bytes", space, nbytes, to=(0, 0))
    forward += launch_each(prod(data), "index", f"copy<{kind}>", IN[0], space, into, False,
                           to=(0, 0))
    backward += launch_each(prod(data), "index", f"copy<{kind}>", backward_space, IN_GRAD[0],
                            out_of, ADD)
    return ConvolutionForm(layer, True, bias, device, operator(device, forward, backward), nbytes)
