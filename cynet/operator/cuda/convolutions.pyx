# cython: wraparound=True
"""GPU forms of Convolution and Deconvolution, by cuDNN."""

from libc.stddef cimport size_t

from ..._typedefs cimport TBlob, kAddTo, kNullOp
from ...cuda._device cimport SpaceFn
from ...cuda.cudnn_layers cimport Convolution, kForward, kToData, kToWeight
from .._base cimport Operator, OpContext

from ...cuda.cudnn import open_door
from ..floats import GPU_FLOATS, require_floats
from .forms import form

_UNLIMITED = 1 << 62


cdef class ConvolutionForm(Operator):
    """A convolution, or with `transposed` one whose data are its output and the reverse."""

    cdef Convolution layer
    cdef bint transposed, has_bias
    cdef SpaceFn space

    def __init__(self, layer, transposed, has_bias, device):
        self.layer, self.transposed, self.has_bias = layer, transposed, has_bias
        self.space = <SpaceFn><size_t>device.space_address

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        cdef int direction = kToData if self.transposed else kForward
        cdef const void* first = in_data[1 if self.transposed else 0].data
        cdef const void* second = in_data[0 if self.transposed else 1].data
        if req[0] == kNullOp:
            return 0
        _run(self, ctx, direction, first, second, req[0], out_data[0].data)
        if not self.has_bias:
            return 0
        return self.layer.add_bias(&ctx.run_ctx, in_data[2].data, out_data[0].data)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        cdef const void* g = out_grad[0].data
        cdef const void* data = in_data[0].data
        cdef const void* weight = in_data[1].data
        if req[1] != kNullOp:
            _run(self, ctx, kToWeight, g if self.transposed else data,
                 data if self.transposed else g, req[1], in_grad[1].data)
        if self.has_bias and req[2] != kNullOp:
            self.layer.bias_gradient(&ctx.run_ctx, g, in_grad[2].data, req[2] == kAddTo)
        if req[0] == kNullOp:
            return 0
        if self.transposed:
            return _run(self, ctx, kForward, g, weight, req[0], in_grad[0].data)
        return _run(self, ctx, kToData, weight, g, req[0], in_grad[0].data)


cdef int _run(ConvolutionForm self, OpContext* ctx, int direction, const void* a, const void* b,
              int req, void* out) except -1 nogil:
    cdef void* space = NULL
    self.layer.prepare(&ctx.run_ctx, direction)
    if self.layer.space[direction]:
        space = self.space(ctx.run_ctx.dev_id, 0, self.layer.space[direction], ctx.run_ctx.stream)
    return self.layer.run(&ctx.run_ctx, direction, a, b, out, req == kAddTo, space)


def _layer(prop, dtype, data, weight, out, stride, dilate, pad, transposed):
    limit = _UNLIMITED if prop.cudnn_tune == "fastest" else prop.workspace << 20
    tune = prop.cudnn_tune in ("fastest", "limited_workspace")
    return Convolution(dtype, data, weight, out, stride, dilate, pad, prop.num_group, limit, tune,
                       transposed)


@form("Convolution", checks=False)
def convolution(prop, in_shapes, in_types, device):
    """cuDNN's convolution over NCHW memory."""
    require_floats(prop, prop.list_arguments(), in_types, GPU_FLOATS)
    _, (out,), _ = prop.infer_shape(in_shapes, [None])
    open_door()
    layer = _layer(prop, in_types[0], in_shapes[0], in_shapes[1], out, *prop.window,
                   False)
    return ConvolutionForm(layer, False, not prop.no_bias, device)


@form("Deconvolution", checks=False)
def deconvolution(prop, in_shapes, in_types, device):
    """The data gradient of cuDNN's convolution."""
    require_floats(prop, prop.list_arguments(), in_types, GPU_FLOATS)
    data = in_shapes[0]
    _, (out,), _ = prop.infer_shape(in_shapes, [None])
    pad = tuple(prop.geometry(axis, size)[1] for axis, size in enumerate(data[2:]))
    stride, dilate = prop.window[:2]
    open_door()
    layer = _layer(prop, in_types[0], out, in_shapes[1], data, stride, dilate, pad, True)
    return ConvolutionForm(layer, True, not prop.no_bias, device)
