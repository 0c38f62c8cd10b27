"""Pooling: the maximum, mean, sum or norm of every window; data (N, C, *size), out (N, C, *size').

size' = (size + 2 pad - kernel) / stride + 1, rounded down ('valid') or up ('full'); ceil(size /
stride) for 'same', which pads by itself. With a layout such as NHWC channels are the last axis.
"""

from math import prod

from ...base.errors import ArgumentError, ShapeError
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Enum, Int, Shape
from ..precision import EITHER, Precision
from ..property import ResourceRequest
from ..second_order import Linear, Rewrite
from .layout_adapter import LayoutAdapter, reordering_operator
from .spatial_window import (
    LAYOUTS,
    channels_first_shape,
    check_rank,
    check_window,
    is_channels_last,
    shape_in_layout,
    slide_length,
    to_3d,
)

_POOL_TYPES = ("max", "avg", "sum", "lp")  # values of `pool_type`


class PoolingHooks(GraphHooks):
    """Graph hooks of Pooling: it has a channels-last form, and may take maxima of windows."""

    def computes_maxima(self, prop):
        # with other conventions a window may be empty and have no maximum
        return prop.pool_type == "max" and (prop.global_pool or prop.pooling_convention == "valid")

    def channels_last_form(self, prop, in_shapes, in_types):
        if is_channels_last(prop.layout) or in_types[0] != "float32" or prop.pool_type == "lp":
            return None
        return ChannelsLastPooling(**prop.params()), [0]


class PoolingProperty(KernelProperty, operator="Pooling"):
    """Reduce every window over the spatial axes of (N, C, *size) to one number, by `pool_type`.

    ``size' = floor((size + 2 * pad - kernel) / stride) + 1`` with ``pooling_convention='valid'``,
    ceil in place of floor with ``'full'``, and ``ceil(size / stride)`` with ``'same'``, which takes
    no pad. A global pool gives one number a channel and needs no kernel. ``'lp'`` is ``(sum
    x^p)^(1/p)``. With ``layout='NHWC'`` and the like channels are the last axis.
    """

    kernel = Shape((), doc="Size of the window: (w,), (h, w) or (d, h, w).")
    pool_type = Enum(_POOL_TYPES, "max", doc="How a window is reduced.")
    global_pool = Bool(False, doc="One window over everything; kernel, stride and pad are unused.")
    cudnn_off = Bool(False, doc="On a GPU by cynet's own kernels, not by cuDNN.")
    pooling_convention = Enum(
        ("valid", "full", "same"), "valid", doc="How the output size is rounded."
    )
    stride = Shape((), doc="Step of the window; all 1 by default.")
    pad = Shape((), doc="Padding at both ends, smaller than the kernel; all 0 by default.")
    p_value = Int(None, doc="The p of 'lp': 1, 2 or 3.", low=1, high=3)
    count_include_pad = Bool(None, doc="Whether 'avg' counts padding; it does by default.")
    layout = Enum(LAYOUTS, None, doc="Order of axes: channels first by default, or last.")

    graph = PoolingHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, *size)."}
    forward = Kernel("pool")
    last = False  # True: data are float32 and channels-last
    amp = Precision(EITHER, EITHER)
    drawn_as = "pooling"
    example = """
    >>> x = mx.nd.arange(16).reshape((1, 1, 4, 4))
    >>> mx.nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    [[[[ 5.  7.]
       [13. 15.]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    >>> mx.nd.Pooling(x, global_pool=True, pool_type="avg")
    [[[[7.5]]]]
    <NDArray 1x1x1x1 @cpu(0)>
    """

    @property
    def backward(self):  # the kernel of the gradient
        if self.pool_type in ("avg", "sum"):
            return Kernel("pool_grad", ("d_output",), ("d_data",))
        roots = self.pool_type == "lp" and self.p_value > 1
        return Kernel("pool_grad", ("d_output", "data", "output")[: 2 + roots], ("d_data",))

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        where = f"operator {self.op_name}"
        if self.pool_type == "lp" and self.p_value is None:
            raise ArgumentError(f"{where}: pool_type 'lp' needs p_value (1, 2 or 3)")
        if self.global_pool:
            return
        n = len(self.kernel)  # MXNet ignores surplus values of stride and pad
        self.window = check_window(
            where,
            self.kernel,
            self.layout,
            stride=(self.stride[:n], 1, 1),
            pad=(self.pad[:n], 0, 0),
        )
        pad = self.window[1]
        if self.pooling_convention == "same" and any(pad):
            raise ArgumentError(
                f"{where}: pooling_convention 'same' pads by itself; pad {pad} must be 0"
            )
        if any(p >= k for p, k in zip(pad, self.kernel)):
            raise ArgumentError(f"{where}: pad {pad} must be smaller than kernel {self.kernel}")

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        known = data if data is not None else out
        if known is None:
            return [None], [None], []
        if self.global_pool:
            if not 3 <= len(known) <= 5:
                raise ShapeError(
                    f"data has shape {tuple(known)}, expected (N, C, *size) with "
                    "1 to 3 spatial axes"
                )
            if self.layout is not None and len(known) != len(self.layout):
                raise ShapeError(
                    f"data has shape {tuple(known)}, expected {len(self.layout)} axes "
                    f"({self.layout})"
                )
            sizes = [1] * (len(known) - 2)
        else:
            check_rank("data", data, self.kernel, self.layout)
            check_rank("output", out, self.kernel, self.layout)
            sizes = [0] * len(self.kernel)
            if data is not None:
                sizes = [
                    self.geometry(axis, size)[0]
                    for axis, size in enumerate(channels_first_shape(data, self.layout)[2:])
                ]
        if data is None:
            data = (0,) * len(known)
        ends = channels_first_shape(data, self.layout)[:2]
        out = unify_shapes("output", out, shape_in_layout((*ends, *sizes), self.layout))
        ends = channels_first_shape(out, self.layout)[:2]
        data = unify_shapes("data", data, shape_in_layout((*ends, *(0,) * len(sizes)), self.layout))
        return [data], [out], []

    def geometry(self, axis, size):
        """(output size, kernel, stride, padding before and behind) along a spatial axis."""
        if self.global_pool:
            return 1, size, 1, 0, 0
        kernel, stride, pad = self.kernel[axis], self.window[0][axis], self.window[1][axis]
        if size == 0:
            return 0, kernel, stride, pad, pad
        if self.pooling_convention == "same":
            out = -(-size // stride)
            missing = max((out - 1) * stride + kernel - size, 0)
            return out, kernel, stride, missing // 2, missing - missing // 2
        span = slide_length(self.kernel, axis, size, pad)
        if self.pooling_convention == "full":
            return -(-span // stride) + 1, kernel, stride, pad, pad
        return span // stride + 1, kernel, stride, pad, pad

    def kernel_params(self, in_shapes):
        data = channels_first_shape(in_shapes[0], self.layout)
        axes = [self.geometry(axis, size) for axis, size in enumerate(data[2:])]
        axes = zip(*to_3d(axes, (1, 1, 1, 0, 0)))
        sizes = dict(zip(("out_size", "kernel", "stride", "pad", "pad_after"), axes))
        return sizes | {
            "type": _POOL_TYPES.index(self.pool_type),
            "p": self.p_value or 1,
            "count_pad": self.count_include_pad is not False,
            "last": self.last,
            "batch": data[0],
            "channels": data[1],
            "in_size": to_3d(data[2:], 1),
        }

    def cost_elements(self, in_shapes):
        params = self.kernel_params(in_shapes)
        sizes = params["batch"], params["channels"], *params["out_size"], *params["kernel"]
        return prod(sizes)

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] * (1 + is_channels_last(self.layout))

    def backward_resource(self, in_shapes):
        return self.forward_resource(in_shapes)

    def create_operator(self, ctx, in_shapes, in_types):
        if not is_channels_last(self.layout):
            return super().create_operator(ctx, in_shapes, in_types)
        if in_types[0] == "float32" and self.pool_type != "lp":
            return KernelProperty.create_operator(self.changed(last=True), ctx, in_shapes, in_types)
        (out,) = self.output_shapes(in_shapes)
        return LayoutAdapter(
            super().create_operator(ctx, in_shapes, in_types),
            reordering_operator(in_shapes[0], in_types[0]),
            None,
            reordering_operator(out, in_types[0]),
        )

    @property
    def second_order(self):
        """The rule for gradients of gradients: means and sums are linear."""
        if self.pool_type in ("avg", "sum"):
            return Linear()
        from .pooling_rewritten import pooling  # rarely needed: gradients of gradients

        return Rewrite(pooling)


class ChannelsLastPooling(PoolingProperty):
    """Pooling on channels-last data."""

    op_name, last = "Pooling", True
