# cython: wraparound=True
"""DeformableConvolution, ModulatedDeformableConvolution: windows whose points are moved.

data (N, C, H, W), offset (N, 2 * G * taps, H', W'), mask (N, G * taps, H', W') of the modulated
form, weight (F, C / num_group, *kernel), bias (F,), out (N, F, H', W'); G is num_deformable_group,
taps the product of kernel. ``out = bias + sum over taps k of weight_k * mask_k * data(p + p_k +
offset_k)``, read by bilinear interpolation (Dai et al., "Deformable convolutional networks", 2017;
Zhu et al., "Deformable ConvNets v2", 2019).
"""

from cython cimport floating
from libc.string cimport memset

from ..._resource cimport get_space
from ..._typedefs cimport TBlob, kAddTo, kFloat32, kNullOp
from ...kernels.reduce.row_sums cimport sum_channels
from ...kernels.vision.deformable cimport (
    DeformGrads, DeformShape, deform_backward, deform_fill_dims, deform_forward,
    deform_workspace_elements
)
from .._base cimport Operator, OpContext

from ...base.errors import ArgumentError, ShapeError
from ..checks.dtypes import require_float_cpu
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..nn.spatial_window import check_window
from ..parameters import Bool, Enum, Int, Shape
from ..precision import FLOAT32, Precision
from ..property import OperatorProperty, ResourceRequest
from ..second_order import Rewrite
from .deformable_decomposed import compose_deformable
from .planes import unify_planes, has_zero_length

_INPUT_DOCS = {  # input -> its documentation
    "data": "Input (N, C, H, W).",
    "offset": "Offsets (N, 2 * num_deformable_group * taps, H', W') in pixels: y, then x, of each "
              "point of the window.",
    "mask": "Factors (N, num_deformable_group * taps, H', W').",
    "weight": "Filters (num_filter, C / num_group, *kernel).",
    "bias": "Vector (num_filter,).",
}


class DeformableProperty(OperatorProperty):  # base of deformable convolutions
    """Base of the two deformable convolutions."""

    modulated, holds = False, True
    kernel = Shape(doc="Size of the window: (h, w).")
    stride = Shape((), doc="Step of the window; all 1 by default.")
    dilate = Shape((), doc="Distance between neighboring points of the window; all 1 by default.")
    pad = Shape((), doc="Zeros added at both ends; all 0 by default.")
    num_filter = Int(doc="Number of output channels.", low=1)
    num_group = Int(1, doc="Number of groups that channels and filters are split into.", low=1)
    num_deformable_group = Int(1, doc="Number of groups of channels that share offsets.", low=1)
    workspace = Int(1024, doc="Part of MXNet's signature; not used.", low=0)
    no_bias = Bool(False, doc="Leave out the bias.")

    graph = GraphHooks(float32_beside_half=())

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        where = f"operator {self.op_name}"
        if len(self.kernel) != 2:
            raise ArgumentError(f"{where}: kernel {self.kernel} must have 2 numbers (h, w)")
        self.window = check_window(
            where, self.kernel, self.layout,
            stride=(self.stride, 1, 1), dilate=(self.dilate, 1, 1), pad=(self.pad, 0, 0))
        if self.num_filter % self.num_group:
            raise ArgumentError(f"{where}: num_filter {self.num_filter} is not a multiple of "
                                f"num_group {self.num_group}")

    def list_arguments(self):
        mask = ["mask"] if self.modulated else []
        bias = [] if self.no_bias else ["bias"]
        return ["data", "offset", *mask, "weight", *bias]

    def infer_shape(self, in_shapes, out_shapes):
        names = self.list_arguments()
        shapes = dict(zip(names, in_shapes))
        (kh, kw), groups, spread = self.kernel, self.num_group, self.num_deformable_group
        data = unify_planes("data", shapes["data"], (0, 0, 0, 0))
        for name, divisor in (("num_group", groups), ("num_deformable_group", spread)):
            if not has_zero_length(data[1]) and data[1] % divisor:
                raise ShapeError(f"data has {data[1]} channels, not a multiple of {name} {divisor}")
        sizes = [self.output_size(axis, size) for axis, size in enumerate(data[2:])]
        out = unify_planes("output", out_shapes[0], (data[0], self.num_filter, *sizes))
        offset = unify_planes("offset", shapes["offset"], (out[0], 2 * spread * kh * kw, *out[2:]))
        out = unify_planes("output", out, (offset[0], 0, *offset[2:]))
        if self.modulated:
            mask = unify_planes("mask", shapes["mask"], (out[0], spread * kh * kw, *out[2:]))
            out = unify_planes("output", out, (mask[0], 0, *mask[2:]))
            offset = unify_planes("offset", offset, (out[0], 0, *out[2:]))
            shapes["mask"] = mask
        channels = 0 if has_zero_length(data[1]) else data[1] // groups
        weight = unify_shapes("weight", shapes["weight"], (self.num_filter, channels, kh, kw))
        shapes["data"] = unify_planes("data", data, (out[0], weight[1] * groups, 0, 0))
        shapes["offset"], shapes["weight"] = offset, weight
        if not self.no_bias:
            shapes["bias"] = unify_shapes("bias", shapes["bias"], (self.num_filter,))
        return [shapes[name] for name in names], [out], []

    def output_size(self, axis, size):
        """Return the number of windows along a spatial axis of `size`; 0 if that is unknown."""
        stride, dilate, pad = (values[axis] for values in self.window)
        span = dilate * (self.kernel[axis] - 1) + 1
        if size == 0:
            return 0
        if span > size + 2 * pad:
            raise ShapeError(
                f"kernel {self.kernel} with dilate {self.window[1]} spans {span} along spatial "
                f"axis {axis}, but the input has {size} + 2 * {pad} (pad)")
        return (size + 2 * pad - span) // stride + 1

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], *in_data[:4 if self.modulated else 3]]

    def compose_outputs(self, F, inputs, aux, training):
        return compose_deformable(self, F, inputs)

    second_order = Rewrite(compose_outputs)

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return DeformableOperator(self, in_shapes[0])


def _make_layout_parameter():
    return Enum(("NCW", "NCHW", "NCDHW"), None, doc="Order of axes: NCHW.")


class DeformableConvolutionProperty(DeformableProperty, operator="_contrib_DeformableConvolution"):
    """Convolution whose windows read the data at points moved by offsets, which are an input.

    The window's point k at output p reads ``data(p * stride - pad + k * dilate + offset)`` by
    bilinear interpolation. A sample beyond the data is 0; one in the last pixel has its value. Each
    of num_deformable_group groups of channels has offsets of its own. All inputs have a gradient.
    """

    layout = _make_layout_parameter()
    inputs_doc = {name: text for name, text in _INPUT_DOCS.items() if name != "mask"}
    amp = Precision(FLOAT32)
    example = """
    >>> x, offset = mx.nd.ones((1, 1, 4, 4)), mx.nd.zeros((1, 18, 2, 2))
    >>> mx.nd.contrib.DeformableConvolution(x, offset, mx.nd.ones((1, 1, 3, 3)), kernel=(3, 3),
    ...     num_filter=1, no_bias=True)
    [[[[9. 9.]
       [9. 9.]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """


class ModulatedDeformableConvolutionProperty(
    DeformableProperty, operator="_contrib_ModulatedDeformableConvolution"
):
    """DeformableConvolution whose samples are multiplied by factors that are an input, too.

    The window's point k at output p reads ``mask * data(p * stride - pad + k * dilate + offset)``.
    Pixels outside the data are zeros, so samples fade over one pixel around it.
    """

    modulated, holds = True, False
    inputs_doc = _INPUT_DOCS
    im2col_step = Int(64, doc="Part of MXNet's signature; not used.", low=1)
    layout = _make_layout_parameter()
    example = """
    >>> x, offset = mx.nd.ones((1, 1, 4, 4)), mx.nd.zeros((1, 18, 2, 2))
    >>> mask = mx.nd.ones((1, 9, 2, 2)) / 2
    >>> mx.nd.contrib.ModulatedDeformableConvolution(x, offset, mask, mx.nd.ones((1, 1, 3, 3)),
    ...     kernel=(3, 3), num_filter=1, no_bias=True)
    [[[[4.5 4.5]
       [4.5 4.5]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """


cdef class DeformableOperator(Operator):
    cdef DeformShape shape
    cdef bint has_bias, modulated

    def __init__(self, prop, data):
        cdef DeformShape* s = &self.shape
        cdef int i
        s.batch, s.channels = data[:2]
        s.filters, s.groups = prop.num_filter, prop.num_group
        s.offset_groups, s.holds = prop.num_deformable_group, prop.holds
        for i in range(2):
            s.in_size[i], s.kernel[i] = data[2 + i], prop.kernel[i]
            s.out_size[i] = prop.output_size(i, data[2 + i])
            s.stride[i], s.dilate[i], s.pad[i] = (values[i] for values in prop.window)
        deform_fill_dims(s)
        self.has_bias, self.modulated = not prop.no_bias, prop.modulated

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        if req[0] == kNullOp:
            return 0
        if in_data[0].dtype == kFloat32:
            return self._forward(<float*>NULL, ctx, in_data, req, out_data)
        return self._forward(<double*>NULL, ctx, in_data, req, out_data)

    cdef int backward(self, OpContext* ctx, const TBlob* out_grad, const TBlob* in_data,
                      const TBlob* out_data, const int* req, TBlob* in_grad,
                      TBlob* aux_states) except -1 nogil:
        if out_grad[0].dtype == kFloat32:
            return self._backward(<float*>NULL, ctx, out_grad, in_data, req, in_grad)
        return self._backward(<double*>NULL, ctx, out_grad, in_data, req, in_grad)

    cdef int _forward(self, floating* kind, OpContext* ctx, const TBlob* in_data, const int* req,
                      TBlob* out_data) except -1 nogil:
        cdef int w = 3 if self.modulated else 2
        cdef floating* space = <floating*>get_space(
            &ctx.requested[0], deform_workspace_elements(&self.shape) * sizeof(floating))
        cdef const floating* mask = <const floating*>(in_data[2].data if self.modulated else NULL)
        cdef const floating* bias = <const floating*>(
            in_data[w + 1].data if self.has_bias else NULL)
        deform_forward(&self.shape, <const floating*>in_data[0].data,
                       <const floating*>in_data[1].data, mask, <const floating*>in_data[w].data,
                       bias, <floating*>out_data[0].data, req[0] == kAddTo, space)
        return 0

    cdef int _backward(self, floating* kind, OpContext* ctx, const TBlob* out_grad,
                       const TBlob* in_data, const int* req, TBlob* in_grad) except -1 nogil:
        cdef int w = 3 if self.modulated else 2
        cdef DeformGrads grads
        cdef floating* space = <floating*>get_space(
            &ctx.requested[0], deform_workspace_elements(&self.shape) * sizeof(floating))
        cdef const floating* mask = <const floating*>(in_data[2].data if self.modulated else NULL)
        memset(&grads, 0, sizeof(grads))
        if req[0] != kNullOp:
            grads.data, grads.add[0] = in_grad[0].data, req[0] == kAddTo
        if req[1] != kNullOp:
            grads.offset, grads.add[1] = in_grad[1].data, req[1] == kAddTo
        if self.modulated and req[2] != kNullOp:
            grads.mask, grads.add[2] = in_grad[2].data, req[2] == kAddTo
        if req[w] != kNullOp:
            grads.weight, grads.add[3] = in_grad[w].data, req[w] == kAddTo
        deform_backward(&self.shape, <const floating*>in_data[0].data,
                        <const floating*>in_data[1].data, mask,
                        <const floating*>in_data[w].data, <const floating*>out_grad[0].data,
                        &grads, space)
        if self.has_bias and req[w + 1] != kNullOp:
            sum_channels(<const floating*>out_grad[0].data, self.shape.batch, self.shape.filters,
                         self.shape.out_space, <floating*>in_grad[w + 1].data,
                         req[w + 1] == kAddTo)
        return 0
