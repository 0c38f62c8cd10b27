"""LRN: out = data * (knorm + alpha / nsize * sum of data^2 over nsize channels around)^-beta."""

from math import prod

from ...base.errors import ArgumentError, ShapeError
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Float, Int
from ..precision import EITHER, FLOAT32, Precision
from ..property import merge_shapes
from ..second_order import Rewrite


class LRNHooks(GraphHooks):
    """Graph hooks of LRN: it has a channels-last form."""

    def channels_last_form(self, prop, in_shapes, in_types):
        return (ChannelsLastLRN(**prop.params()), [0]) if in_types[0] == "float32" else None


class LRNProperty(KernelProperty, operator="LRN"):
    """Local response normalization across channels.

    ``out[n, c] = data[n, c] * (knorm + alpha / nsize * sum_k data[n, k] ** 2) ** -beta`` with k
    over the `nsize` channels around c, as far as there are any.
    """

    alpha = Float(1e-4, doc="Factor of the squares.")
    beta = Float(0.75, doc="Exponent.")
    knorm = Float(2.0, doc="Added to the squares.")
    nsize = Int(doc="Number of channels that are summed, odd.", low=1, high=(1 << 31) - 1)

    graph = LRNHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, ...)."}
    forward = Kernel("local_response")
    backward = Kernel("local_response_grad", ("d_output", "data"), ("d_data",))
    last = False  # data are channels-last
    amp = Precision(FLOAT32, EITHER)
    drawn_as = "norm"
    example = """
    >>> mx.nd.LRN(mx.nd.ones((1, 3, 1, 1)), nsize=3, alpha=1).reshape((3,))
    [0.4792073  0.43869132 0.4792073 ]
    <NDArray 3 @cpu(0)>
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        if self.nsize % 2 == 0:
            raise ArgumentError(
                f"operator {self.op_name}: nsize {self.nsize} must be odd, "
                "so that as many channels are summed before as behind"
            )

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        if data is not None and len(data) < 2:
            raise ShapeError(f"data has shape {data}, expected at least 2 axes")
        return [data], [data], []

    def kernel_params(self, in_shapes):
        batch, channels, *size = in_shapes[0]
        return {
            "batch": batch,
            "channels": channels,
            "inner": prod(size),
            "size": self.nsize,
            "alpha": self.alpha,
            "beta": self.beta,
            "knorm": self.knorm,
            "last": self.last,
        }

    def cost_elements(self, in_shapes):
        return prod(in_shapes[0]) * (8 + self.nsize)

    def compose_outputs(self, F, inputs, aux, training):
        data, half = inputs[0], self.nsize // 2
        squares = F.square(data)
        total, n = squares, data.shape[1]
        for step in range(1, min(half, n - 1) + 1):
            edge = F.zeros_like(F.slice_axis(squares, axis=1, begin=0, end=step))
            up = F.concat(F.slice_axis(squares, axis=1, begin=step, end=n), edge, dim=1)
            down = F.concat(edge, F.slice_axis(squares, axis=1, begin=0, end=n - step), dim=1)
            total = total + up + down
        return [data * (total * (self.alpha / self.nsize) + self.knorm) ** (-self.beta)]

    second_order = Rewrite(compose_outputs)


class ChannelsLastLRN(LRNProperty):
    """Local response normalization of channels-last data."""

    op_name, last = "LRN", True
