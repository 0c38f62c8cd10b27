"""Deconvolution: the transpose of a convolution, over 1 to 3 spatial axes.

data (N, C, *size), weight (C, F / num_group, *kernel), bias (F,), out (N, F, *size') with
size' = stride (size - 1) + dilate (kernel - 1) + 1 - 2 pad + adj. With a layout such as NHWC the
second axis of data, weight and out is their last.
"""

from math import prod

from ....base.errors import ArgumentError, ShapeError
from ...checks.dtypes import require_float_cpu
from ...checks.shapes import unify_shapes
from ...graph_hooks import LayerHooks
from ...parameters import Bool, Enum, Int, Shape
from ...precision import LOW, Precision
from ..spatial_window import LAYOUTS, channels_first_shape, check_rank, shape_in_layout
from . import select
from .convolution import FiltersProperty
from .memory_order import (
    ChannelsLast,
    ChannelsLastHooks,
    ConvHooks,
    create_conv_operator,
    find_channels_last,
    weight_first_form,
)


class DeconvolutionHooks(ConvHooks, LayerHooks):
    """Graph hooks of a deconvolution: it has a channels-last form."""

    def flops(self, prop, in_shapes, out_shapes):
        # an element of data is multiplied by all weights after the weight's first axis
        return 2 * prod(in_shapes[0]) * prod(self.weight_shape(prop, in_shapes)[1:])

    def channels_last_form(self, prop, in_shapes, in_types):
        return find_channels_last(ChannelsLastDeconvolution, prop, in_shapes, in_types)

    def weight_first_form(self, prop, in_shapes, in_types):
        return weight_first_form(ChannelsLastDeconvolution, prop, in_shapes, in_types)


class DeconvolutionProperty(FiltersProperty, operator="Deconvolution"):
    """Transposed convolution over one, two or three spatial axes.

    It computes what a convolution's gradient by its data is.

    Data of shape (N, C, *size) give out of shape (N, num_filter, *size') where
    ``size' = stride * (size - 1) + dilate * (kernel - 1) + 1 - 2 * pad + adj``, or `target_shape`,
    which chooses pad and adj by itself. With ``layout='NHWC'`` and the like channels are the last
    axis of data and out, and the second axis of weight is its last.
    """

    kernel = Shape(doc="Size of the window: (w,), (h, w) or (d, h, w).")
    stride = Shape((), doc="Step of the window in out; all 1 by default.")
    dilate = Shape((), doc="Distance between neighboring points of the window; all 1 by default.")
    pad = Shape((), doc="Cut off at both ends of out; all 0 by default.")
    adj = Shape((), doc="Added to the end of out, less than stride; all 0 by default.")
    target_shape = Shape((), doc="Spatial size of out; pad and adj are not looked at then.")
    num_filter = Int(doc="Number of output channels.", low=1)
    num_group = Int(1, doc="Number of groups that channels and filters are split into.", low=1)
    workspace = Int(512, doc="Most scratch memory of cuDNN, in MiB; not needed on a CPU.", low=0)
    no_bias = Bool(True, doc="Leave out the bias.")
    cudnn_tune = Enum(
        ("fastest", "limited_workspace", "off"),
        None,
        doc="On a GPU, time cuDNN's algorithms: all, or within workspace.",
    )
    cudnn_off = Bool(False, doc="Part of MXNet's signature; not used.")
    layout = Enum(LAYOUTS, None, doc="Order of axes: channels first by default, or last.")

    graph = DeconvolutionHooks(float32_beside_half=())
    inputs_doc = {
        "data": "Input (N, C, *size).",
        "weight": "Filters (C, num_filter / num_group, *kernel).",
        "bias": "Vector (num_filter,).",
    }
    amp = Precision(LOW)
    example = """
    >>> x = mx.nd.array([[[[1, 2], [3, 4]]]])
    >>> weight = mx.nd.ones((1, 1, 2, 2))
    >>> mx.nd.Deconvolution(x, weight, kernel=(2, 2), stride=(2, 2), num_filter=1)
    [[[[1. 1. 2. 2.]
       [1. 1. 2. 2.]
       [3. 3. 4. 4.]
       [3. 3. 4. 4.]]]]
    <NDArray 1x1x4x4 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        more = {"adj": (self.adj, 0, 0), "target_shape": (self.target_shape, 0, 0)}
        self.window = self.checked_window_values(**more)
        stride, _, _, adj, target = self.window
        if any(a >= s for a, s in zip(adj, stride)) and not any(target):
            raise ArgumentError(
                f"operator {self.op_name}: adj {adj} must be smaller than stride {stride}"
            )

    def infer_shape(self, in_shapes, out_shapes):
        kernel, filters, layout = self.kernel, self.num_filter, self.layout
        data, weight, out = in_shapes[0], in_shapes[1], out_shapes[0]
        check_rank("data", data, kernel, layout)
        check_rank("output", out, kernel, layout)
        weight = unify_shapes(
            "weight",
            weight,
            shape_in_layout((0, filters // self.num_group, *kernel), self.weight_layout),
        )
        if data is None and out is not None:
            data = (0,) * (len(kernel) + 2)
        if data is not None:
            batch, channels, *sizes = channels_first_shape(data, layout)
            if channels % self.num_group:
                raise ShapeError(
                    f"data has {channels} channels, not a multiple of num_group {self.num_group}"
                )
            weight = unify_shapes("weight", weight, (channels, *weight[1:]))
            made = [self.geometry(axis, size)[0] for axis, size in enumerate(sizes)]
            out = unify_shapes("output", out, shape_in_layout((batch, filters, *made), layout))
            data = shape_in_layout((out[0], weight[0], *sizes), layout)
        shapes = [data, weight]
        if not self.no_bias:
            shapes.append(unify_shapes("bias", in_shapes[2], (filters,)))
        return shapes, [out], []

    def geometry(self, axis, size):
        """(output size, pad) along a spatial axis of `size`; 0 for an unknown size."""
        stride, dilate, pad, adj, target = (values[axis] for values in self.window)
        if size == 0:
            return target, pad
        whole = stride * (size - 1) + dilate * (self.kernel[axis] - 1) + 1
        if target:
            if target > whole:
                raise ShapeError(
                    f"target_shape {self.target_shape} asks for {target} along "
                    f"spatial axis {axis}, where at most {whole} is reached"
                )
            return target, (whole - target + 1) // 2
        if whole + adj - 2 * pad < 1:
            raise ShapeError(
                f"pad {self.pad} leaves nothing of the {whole} along spatial axis {axis}"
            )
        return whole + adj - 2 * pad, pad

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0], in_data[1]]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return create_conv_operator(self, in_shapes, in_types)

    def desc(self, in_shapes, in_types, **more):
        """The ConvDesc of this deconvolution of arrays of these shapes and types."""
        data = channels_first_shape(in_shapes[0], self.layout)
        sizes, pad = zip(*(self.geometry(axis, size) for axis, size in enumerate(data[2:])))
        out = data[0], self.num_filter, *sizes
        return select.describe_conv(self, out, data, pad, in_types, transposed=True, **more)


class ChannelsLastDeconvolutionHooks(ChannelsLastHooks, DeconvolutionHooks):
    """Graph hooks of a channels-last deconvolution: row-major data's, and a packed weight."""


class ChannelsLastDeconvolution(ChannelsLast, DeconvolutionProperty):
    """Deconvolution on channels-last data."""

    op_name = "Deconvolution"
    graph = ChannelsLastDeconvolutionHooks(prefers_channels_last=True)
