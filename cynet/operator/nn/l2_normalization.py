"""L2Normalization: out = data / sqrt(sum(data^2) + eps), in data's shape."""

from math import prod

from ...base.errors import ShapeError
from ..graph_hooks import GraphHooks
from ..kernel_property import GpuLines, Kernel, KernelProperty
from ..parameters import Enum, Float
from ..precision import Precision
from ..property import merge_shapes
from ..second_order import Rewrite


class L2NormalizationProperty(KernelProperty, operator="L2Normalization"):
    """Divide by the Euclidean norm: ``out = data / sqrt(sum(data ** 2) + eps)``.

    The sum goes over a whole sample ('instance'), over the channels at each position ('channel'),
    or over the positions of each channel ('spatial').
    """

    eps = Float(1e-10, doc="Added to the sum.", low=0.0)
    mode = Enum(
        ("channel", "instance", "spatial"), "instance", doc="Axes over which the norm is taken."
    )

    inputs_doc = {"data": "Input (N, C, ...)."}
    forward = Kernel("l2_norm", in_place=(("data", "output"),))
    backward = Kernel(
        "l2_norm_grad", ("d_output", "data"), ("d_data",), in_place=(("d_output", "d_data"),)
    )
    gpu = GpuLines("normalization")
    graph = GraphHooks(float32_beside_half=())
    amp = Precision("float32")
    drawn_as = "norm"
    example = """
    >>> mx.nd.L2Normalization(mx.nd.array([[3, 4], [0, 2]]))
    [[0.6 0.8]
     [0.  1. ]]
    <NDArray 2x2 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        least = 2 if self.mode == "instance" else 3
        if data is not None and len(data) < least:
            raise ShapeError(
                f"data has shape {data}, expected at least {least} axes in mode '{self.mode}'"
            )
        return [data], [data], []

    def kernel_params(self, in_shapes):
        batch, channels, *size = in_shapes[0]
        n = prod(size)
        outer, n, inner = {
            "instance": (batch, channels * n, 1),
            "channel": (batch, channels, n),
            "spatial": (batch * channels, n, 1),
        }[self.mode]
        return {"outer": outer, "n": n, "inner": inner, "eps": self.eps}

    def compose_outputs(self, F, inputs, aux, training):
        (data,) = inputs
        axes = {
            "instance": tuple(range(1, data.ndim)),
            "channel": (1,),
            "spatial": tuple(range(2, data.ndim)),
        }[self.mode]
        total = F.sum(F.square(data), axis=axes, keepdims=True)
        return [F.broadcast_mul(data, F.rsqrt(total + self.eps))]

    second_order = Rewrite(compose_outputs)
