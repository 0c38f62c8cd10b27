# cython: wraparound=True
"""Convolution: out[n, f] = bias[f] + sum_c weight[f, c] * data[n, c], over 1 to 3 spatial axes.

data (N, C, D, H, W), weight (F, C / num_group, *kernel), bias (F,), out (N, F, D', H', W') with
size' = (size + 2 pad - dilate (kernel - 1) - 1) // stride + 1; D, and H, left out for fewer axes.
"""

from ....base.errors import ArgumentError, ShapeError
from ....kernels.conv import onednn
from ..._base import register_operator
from ...checks.dtypes import require_float_cpu
from ...graph_hooks import LayerHooks
from ...parameters import Bool, Enum, Int, Shape
from ...property import OperatorProperty, ResourceRequest
from ...checks.shapes import agree
from ..fused_activation import FoldsActivation, FoldsActivationHooks
from ..spatial_window import check_rank, check_window
from . import select
from .memory_order import ChannelsLast, ChannelsLastHooks, ConvHooks, channels_last


class ConvolutionHooks(ConvHooks, LayerHooks):
    """A channels-last form; windows as wide as the data."""

    def channels_last(self, prop, in_shapes, in_types):
        return channels_last(ChannelsLastConvolution, prop, in_shapes, in_types)

    def columns_as_channels(self, prop, in_shapes):
        if len(prop.kernel) != 2 or in_shapes[0][1] != 1:
            return None
        stride, dilate, pad = prop.window
        if pad[1] or dilate[1] != 1 or not 1 < prop.kernel[1] == in_shapes[0][3]:
            return None
        return type(prop)(**{**prop.params(), "kernel": (prop.kernel[0], 1), "pad": (pad[0], 0),
                             "stride": (stride[0], 1), "dilate": (dilate[0], 1)})


class ConvolutionProperty(FoldsActivation, OperatorProperty):
    """Convolution (as a cross-correlation) over one, two or three spatial axes.

    Each filter f of group g gives ``out[n, f] = bias[f] + sum_c weight[f, c] * data[n, c]`` with c
    over the channels of that group. Data of shape (N, C, *size) give out of shape (N, num_filter,
    *size') where ``size' = (size + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1``.
    """

    kernel = Shape(doc="Size of the window: (w,), (h, w) or (d, h, w).")
    stride = Shape((), doc="Step of the window; all 1 by default.")
    dilate = Shape((), doc="Distance of the window's points; all 1 by default.")
    pad = Shape((), doc="Zeros added at both ends; all 0 by default.")
    num_filter = Int(doc="Number of output channels.", low=1)
    num_group = Int(1, doc="Number of groups that channels and filters are cut into.", low=1)
    workspace = Int(1024, doc="Most scratch memory of cuDNN, in MiB; not needed on a CPU.", low=0)
    no_bias = Bool(False, doc="Leave out the bias.")
    cudnn_tune = Enum(("fastest", "limited_workspace", "off"), None,
                      doc="On a GPU, time cuDNN's algorithms: all, or within workspace.")
    cudnn_off = Bool(False, doc="Accepted and not needed.")
    layout = Enum(("NCW", "NCHW", "NCDHW", "NHWC", "NDHWC"), None,
                  doc="Order of axes: NCW, NCHW or NCDHW, as kernel has 1, 2 or 3 numbers.")

    graph = ConvolutionHooks(float32_beside_half=())
    inputs_doc = {
        "data": "Input (N, C, *size).",
        "weight": "Filters (num_filter, C / num_group, *kernel).",
        "bias": "Vector (num_filter,).",
    }

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.window = check_window(
            f"operator {self.op_name}", self.kernel, self.layout,
            stride=(self.stride, 1, 1), dilate=(self.dilate, 1, 1), pad=(self.pad, 0, 0))
        if self.num_filter % self.num_group:
            raise ArgumentError(f"operator {self.op_name}: num_filter {self.num_filter} is not "
                                f"a multiple of num_group {self.num_group}")

    def list_arguments(self):
        return ["data", "weight"] if self.no_bias else ["data", "weight", "bias"]

    def infer_shape(self, in_shapes, out_shapes):
        kernel, groups, filters = self.kernel, self.num_group, self.num_filter
        n = len(kernel)
        data, weight, out = in_shapes[0], in_shapes[1], out_shapes[0]
        check_rank("data", data, kernel)
        check_rank("output", out, kernel)
        if data is None and out is not None:
            data = (0,) * (n + 2)
        if data is not None and data[1] % groups:
            raise ShapeError(
                f"data has {data[1]} channels, not a multiple of num_group {groups}")
        channels = 0 if data is None else data[1] // groups
        weight = agree("weight", weight, (filters, channels, *kernel))
        if data is not None:
            sizes = [self.output_size(axis, size) for axis, size in enumerate(data[2:])]
            out = agree("output", out, (data[0], filters, *sizes))
            sizes = [size or self.input_size(axis, out[axis + 2]) for axis,
                     size in enumerate(data[2:])]
            data = agree("data", data, (out[0], weight[1] * groups, *sizes))
        shapes = [data, weight]
        if not self.no_bias:
            shapes.append(agree("bias", in_shapes[2], (filters,)))
        return shapes, [out], []

    def output_size(self, axis, size):
        """Windows that fit along a spatial axis of `size`; 0 when that is unknown."""
        stride, dilate, pad = (values[axis] for values in self.window)
        window = dilate * (self.kernel[axis] - 1) + 1
        if size == 0:
            return 0
        if window > size + 2 * pad:
            raise ShapeError(
                f"kernel {self.kernel} with dilate {self.window[1]} spans {window} "
                f"along spatial axis {axis}, "
                f"but the input has {size} + 2 * {pad} (pad) = {size + 2 * pad}")
        return (size + 2 * pad - window) // stride + 1

    def input_size(self, axis, size):
        """What `output_size` makes `size` from, where only one number does; else 0."""
        stride, dilate, pad = (values[axis] for values in self.window)
        return max(size + dilate * (self.kernel[axis] - 1) - 2 * pad,
                   0) if size and stride == 1 else 0

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] * 2

    def backward_resource(self, in_shapes):
        return self.forward_resource(in_shapes)

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        return select.create(self.desc(in_shapes, in_types), self)

    def desc(self, in_shapes, in_types, **more):
        """The ConvDesc of this convolution of arrays of these shapes and types."""
        (out,) = self.output_shapes(in_shapes)
        return select.describe(self, in_shapes[0], out, self.window[2], in_types, **more)


class ChannelsLastConvolutionHooks(ChannelsLastHooks, FoldsActivationHooks):
    """An activation and a mask."""

    def applies(self, prop, act_type, in_shapes, in_types):
        return onednn.has_activation(act_type)

    def masks(self, prop, in_shapes, in_types):
        return self.algorithms(prop, in_shapes, in_types)["forward"].name == "gemm"


class ChannelsLastConvolution(ChannelsLast, ConvolutionProperty):
    """Convolution on channels-last data."""

    op_name = "Convolution"
    graph = ChannelsLastConvolutionHooks(prefers_channels_last=True)


register_operator("Convolution", ConvolutionProperty, aliases=("Convolution_v1",))
