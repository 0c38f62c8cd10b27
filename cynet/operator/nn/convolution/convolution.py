"""Convolution: out[n, f] = bias[f] + sum_c weight[f, c] * data[n, c], over 1 to 3 spatial axes.

data (N, C, D, H, W), weight (F, C / num_group, *kernel), bias (F,), out (N, F, D', H', W') with
size' = (size + 2 pad - dilate (kernel - 1) - 1) // stride + 1; D, and H, left out for fewer axes.
With a layout such as NHWC the second axis of data, weight and out is their last.
"""

from ....base.errors import ArgumentError, ShapeError
from ....kernels.conv import onednn
from ...checks.dtypes import FLOATS, require_float_cpu
from ...checks.shapes import unify_shapes
from ...graph_hooks import LayerHooks
from ...parameters import Bool, Enum, Int, Shape
from ...precision import LOW, Precision
from ...property import OperatorProperty, ResourceRequest
from ...second_order import Linear
from ..fused_activation import FoldsActivation, FoldsActivationHooks
from ..spatial_window import (
    LAYOUTS,
    channels_first_shape,
    check_rank,
    check_window,
    is_channels_last,
    shape_in_layout,
)
from . import select
from .memory_order import (
    ChannelsLast,
    ChannelsLastHooks,
    ConvHooks,
    create_conv_operator,
    find_channels_last,
    weight_first_form,
)


class ConvolutionHooks(ConvHooks, LayerHooks):
    """Graph hooks of Convolution: a channels-last form, and windows as wide as the data."""

    def channels_last_form(self, prop, in_shapes, in_types):
        return find_channels_last(ChannelsLastConvolution, prop, in_shapes, in_types)

    def weight_first_form(self, prop, in_shapes, in_types):
        return weight_first_form(ChannelsLastConvolution, prop, in_shapes, in_types)

    def columns_as_channels_form(self, prop, in_shapes):
        if len(prop.kernel) != 2 or is_channels_last(prop.layout) or in_shapes[0][1] != 1:
            return None
        stride, dilate, pad = prop.window
        if pad[1] or dilate[1] != 1 or not 1 < prop.kernel[1] == in_shapes[0][3]:
            return None
        return type(prop)(
            **{
                **prop.params(),
                "kernel": (prop.kernel[0], 1),
                "pad": (pad[0], 0),
                "stride": (stride[0], 1),
                "dilate": (dilate[0], 1),
            }
        )


class FiltersProperty(OperatorProperty):  # base of (de)convolutions
    """Common base of convolutions and transposed convolutions."""

    second_order = Linear({0: (1,), 1: (0,), 2: ()})
    drawn_as = "weighted"

    def list_arguments(self):
        return ["data", "weight"] if self.no_bias else ["data", "weight", "bias"]

    @property
    def weight_layout(self):
        """Return the layout of the weight, which is that of data, such as "NCHW"."""
        return self.layout

    def checked_window_values(self, **more):
        """The values of stride, dilate, pad and `more` along each axis; filters that the groups do
        not share are refused."""
        where, usual = f"operator {self.op_name}", {"stride": (self.stride, 1, 1)}
        usual |= {"dilate": (self.dilate, 1, 1), "pad": (self.pad, 0, 0)}
        found = check_window(where, self.kernel, self.layout, **usual, **more)
        if self.num_filter % self.num_group:
            raise ArgumentError(
                f"operator {self.op_name}: num_filter {self.num_filter} is not "
                f"a multiple of num_group {self.num_group}"
            )
        return found

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] * (3 if is_channels_last(self.weight_layout) else 2)

    def backward_resource(self, in_shapes):
        return self.forward_resource(in_shapes)


class ConvolutionProperty(
    FoldsActivation, FiltersProperty, operator="Convolution", aliases=("Convolution_v1",)
):
    """Convolution (as a cross-correlation) over one, two or three spatial axes.

    Each filter f of group g gives ``out[n, f] = bias[f] + sum_c weight[f, c] * data[n, c]`` with c
    over the channels of that group. Data of shape (N, C, *size) give out of shape (N, num_filter,
    *size') where ``size' = (size + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1``. With
    ``layout='NHWC'`` and the like channels are the last axis of data, weight and out.
    """

    kernel = Shape(doc="Size of the window: (w,), (h, w) or (d, h, w).")
    stride = Shape((), doc="Step of the window; all 1 by default.")
    dilate = Shape((), doc="Distance between neighboring points of the window; all 1 by default.")
    pad = Shape((), doc="Zeros added at both ends; all 0 by default.")
    num_filter = Int(doc="Number of output channels.", low=1)
    num_group = Int(1, doc="Number of groups that channels and filters are split into.", low=1)
    workspace = Int(1024, doc="Most scratch memory of cuDNN, in MiB; not needed on a CPU.", low=0)
    no_bias = Bool(False, doc="Leave out the bias.")
    cudnn_tune = Enum(
        ("fastest", "limited_workspace", "off"),
        None,
        doc="On a GPU, time cuDNN's algorithms: all, or within workspace.",
    )
    cudnn_off = Bool(False, doc="Part of MXNet's signature; not used.")
    layout = Enum(LAYOUTS, None, doc="Order of axes: channels first by default, or last.")

    graph = ConvolutionHooks(float32_beside_half=())
    inputs_doc = {
        "data": "Input (N, C, *size).",
        "weight": "Filters (num_filter, C / num_group, *kernel).",
        "bias": "Vector (num_filter,).",
    }
    amp = Precision(LOW, LOW)
    example = """
    >>> x = mx.nd.arange(16).reshape((1, 1, 4, 4))
    >>> weight = mx.nd.ones((1, 1, 3, 3))
    >>> mx.nd.Convolution(x, weight, mx.nd.zeros(1), kernel=(3, 3), num_filter=1)
    [[[[45. 54.]
       [81. 90.]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    >>> mx.nd.Convolution(x, weight, no_bias=True, kernel=(3, 3), pad=(1, 1), stride=(2, 2),
    ...                   num_filter=1).shape
    (1, 1, 2, 2)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.window = self.checked_window_values()

    def infer_shape(self, in_shapes, out_shapes):
        kernel, groups, filters, layout = self.kernel, self.num_group, self.num_filter, self.layout
        data, weight, out = in_shapes[0], in_shapes[1], out_shapes[0]
        check_rank("data", data, kernel, layout)
        check_rank("output", out, kernel, layout)
        if data is None and out is not None:
            data = (0,) * (len(kernel) + 2)
        batch, channels, *sizes = (None, 0) if data is None else channels_first_shape(data, layout)
        if channels % groups:
            raise ShapeError(f"data has {channels} channels, not a multiple of num_group {groups}")
        weight = unify_shapes(
            "weight",
            weight,
            shape_in_layout((filters, channels // groups, *kernel), self.weight_layout),
        )
        if data is not None:
            made = [self.output_size(axis, size) for axis, size in enumerate(sizes)]
            out = unify_shapes("output", out, shape_in_layout((batch, filters, *made), layout))
            batch, _, *made = channels_first_shape(out, layout)
            sizes = [size or self.input_size(axis, made[axis]) for axis, size in enumerate(sizes)]
            channels = channels_first_shape(weight, self.weight_layout)[1] * groups
            data = unify_shapes("data", data, shape_in_layout((batch, channels, *sizes), layout))
        shapes = [data, weight]
        if not self.no_bias:
            shapes.append(unify_shapes("bias", in_shapes[2], (filters,)))
        return shapes, [out], []

    def output_size(self, axis, size):
        """Count the windows that fit along a spatial axis of `size`; 0 if the size is unknown."""
        stride, dilate, pad = (values[axis] for values in self.window)
        window = dilate * (self.kernel[axis] - 1) + 1
        if size == 0:
            return 0
        if window > size + 2 * pad:
            raise ShapeError(
                f"kernel {self.kernel} with dilate {self.window[1]} spans {window} "
                f"along spatial axis {axis}, "
                f"but the input has {size} + 2 * {pad} (pad) = {size + 2 * pad}"
            )
        return (size + 2 * pad - window) // stride + 1

    def input_size(self, axis, size):
        """The only size from which `output_size` makes `size`; 0 if there are several."""
        stride, dilate, pad = (values[axis] for values in self.window)
        return (
            max(size + dilate * (self.kernel[axis] - 1) - 2 * pad, 0) if size and stride == 1 else 0
        )

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types, (*FLOATS, "bfloat16"))
        return create_conv_operator(self, in_shapes, in_types)

    def desc(self, in_shapes, in_types, **more):
        """The ConvDesc of this convolution of arrays of these shapes and types."""
        (out,) = self.output_shapes(in_shapes)
        data, out = (channels_first_shape(shape, self.layout) for shape in (in_shapes[0], out))
        return select.describe_conv(self, data, out, self.window[2], in_types, **more)


class ChannelsLastConvolutionHooks(ChannelsLastHooks, FoldsActivationHooks):
    """Graph hooks of a channels-last convolution: it applies an activation or masks a gradient."""

    def can_apply(self, prop, act_type, in_shapes, in_types):
        return onednn.has_activation(act_type)

    def can_mask_gradient(self, prop, in_shapes, in_types):
        return self.algorithms(prop, in_shapes, in_types)["forward"].name == "gemm"


class ChannelsLastConvolution(ChannelsLast, ConvolutionProperty):
    """Convolution on channels-last data."""

    op_name = "Convolution"
    graph = ChannelsLastConvolutionHooks(prefers_channels_last=True)
