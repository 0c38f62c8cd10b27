"""Pooling_v1: Pooling of old scripts, whose windows see the zeros of the padding.

data (N, C, H, W), out (N, C, H', W') with size' = (size + 2 pad - kernel) / stride + 1, rounded
down ('valid') or up ('full').
"""

from math import prod

from ...base.errors import ArgumentError, ShapeError
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Bool, Enum, Shape
from ..second_order import Linear, Rewrite
from .spatial_window import check_window, slide_length


class PoolingV1Property(KernelProperty, operator="Pooling_v1"):
    """Reduce every window over the planes of (N, C, H, W), padded with zeros, to one number.

    It is there for old networks; they differ from `Pooling` in that ``'max'`` takes the zeros of
    the padding for data, that ``'avg'`` divides by all of kernel in windows that reach beyond the
    padding, too, and that all elements that are equal to the maximum get its gradient.
    """

    kernel = Shape((), doc="Size of the window: (h, w).")
    pool_type = Enum(("avg", "max", "sum"), "max", doc="How a window is reduced.")
    global_pool = Bool(False, doc="One window over everything; kernel, stride and pad are unused.")
    pooling_convention = Enum(("full", "valid"), "valid", doc="How the output size is rounded.")
    stride = Shape((), doc="Step of the window; all 1 by default.")
    pad = Shape((), doc="Zeros at both ends; none by default.")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, H, W)."}
    forward = Kernel("pool_v1")
    drawn_as = "pooling"
    example = """
    >>> x = mx.nd.arange(16).reshape((1, 1, 4, 4))
    >>> mx.nd.Pooling_v1(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    [[[[ 5.  7.]
       [13. 15.]]]]
    <NDArray 1x1x2x2 @cpu(0)>
    """

    @property
    def backward(self):  # the kernel of the gradient
        read = ("d_output", "data", "output") if self.pool_type == "max" else ("d_output",)
        return Kernel("pool_v1_grad", read, ("d_data",))

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        where = f"operator {self.op_name}"
        if self.global_pool:
            return
        if len(self.kernel) != 2:
            raise ArgumentError(f"{where}: kernel {self.kernel} must have 2 numbers (h, w)")
        # further numbers of stride and pad are not read, as in MXNet
        self.window = check_window(
            where, self.kernel, None, stride=(self.stride[:2], 1, 1), pad=(self.pad[:2], 0, 0)
        )

    def infer_shape(self, in_shapes, out_shapes):
        data, out = in_shapes[0], out_shapes[0]
        if data is None and out is None:
            return [None], [None], []
        for name, shape in (("data", data), ("output", out)):
            if shape is not None and len(shape) != 4:
                raise ShapeError(f"{name} has shape {tuple(shape)}, expected 4 axes (NCHW)")
        data = (0,) * 4 if data is None else data
        sizes = [self.geometry(axis, size)[0] for axis, size in enumerate(data[2:])]
        out = unify_shapes("output", out, (*data[:2], *sizes))
        return [unify_shapes("data", data, (*out[:2], 0, 0))], [out], []

    def geometry(self, axis, size):
        """(output size, kernel, stride, pad) along a spatial axis."""
        if self.global_pool:
            return 1, size, 1, 0
        kernel, stride, pad = self.kernel[axis], self.window[0][axis], self.window[1][axis]
        if size == 0:
            return 0, kernel, stride, pad
        span = slide_length(self.kernel, axis, size, pad)
        full = self.pooling_convention == "full"
        return (-(-span // stride) if full else span // stride) + 1, kernel, stride, pad

    def kernel_params(self, in_shapes):
        data = in_shapes[0]
        axes = zip(*(self.geometry(axis, size) for axis, size in enumerate(data[2:])))
        sizes = dict(zip(("out", "kernel", "stride", "pad"), axes))
        return sizes | {
            "planes": data[0] * data[1],
            "size": data[2:],
            "maximum": self.pool_type == "max",
            "divisor": prod(sizes["kernel"]) if self.pool_type == "avg" else 1,
        }

    def cost_elements(self, in_shapes):
        params = self.kernel_params(in_shapes)
        return prod((params["planes"], *params["out"], *params["kernel"]))

    @property
    def second_order(self):
        """The rule for gradients of gradients: means and sums are linear."""
        if self.pool_type in ("avg", "sum"):
            return Linear()
        from .pooling_rewritten import pooling_v1  # rarely needed: gradients of gradients

        return Rewrite(pooling_v1)
