"""InstanceNorm: out = (data - mean) / sqrt(var + eps) * gamma + beta.

data and out (N, C, ...), mean and var of each (n, c); gamma and beta (C,).
"""

from math import prod

from ...base.errors import ShapeError
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Float
from ..precision import FLOAT32, Precision
from ..property import merge_shapes
from ..second_order import Rewrite
from .fused_activation import TakesReluHooks
from .normalization_composed import normalize_axes, scale_shift


class InstanceNormHooks(GraphHooks):
    """Graph hooks of InstanceNorm: it has a channels-last form, which folds in relu."""

    def channels_last_form(self, prop, in_shapes, in_types):
        if any(t != "float32" for t in in_types):
            return None
        return ChannelsLastInstanceNorm(**prop.params()), [0]


class InstanceNormProperty(KernelProperty, operator="InstanceNorm"):
    """Normalize each channel of each sample over its positions, then scale and shift it.

    ``out = (data - mean) / sqrt(var + eps) * gamma + beta`` with mean and variance over the axes
    after the second.
    """

    eps = Float(1e-3, doc="Added to the variance.", low=0.0)

    graph = InstanceNormHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, ...).", "gamma": "Scale (C,).", "beta": "Shift (C,)."}
    forward = Kernel("instance_norm", ("data", "gamma", "beta"), ("output", "mean?", "std?"))
    backward = Kernel(
        "instance_norm_grad",
        ("d_output", "data", "gamma"),
        ("d_data", "d_gamma", "d_beta"),
        in_place=(("d_output", "d_data"),),
    )
    amp = Precision(FLOAT32)
    drawn_as = "norm"
    example = """
    >>> x = mx.nd.array([[[1, 2, 3], [10, 20, 30]]])
    >>> mx.nd.InstanceNorm(x, mx.nd.ones(2), mx.nd.zeros(2))
    [[[-1.2238274  0.         1.2238274]
      [-1.2247357  0.         1.2247357]]]
    <NDArray 1x2x3 @cpu(0)>
    """

    def infer_shape(self, in_shapes, out_shapes):
        data = merge_shapes(in_shapes[0], out_shapes[0])
        channels = merge_shapes(*in_shapes[1:], (0,))
        if data is not None:
            if len(data) < 3:
                raise ShapeError(f"data has shape {data}, expected (N, C, ...), at least 3 axes")
            channels = unify_shapes("gamma or beta", channels, (data[1],))
            data = (data[0], channels[0], *data[2:])
        return [data, channels, channels], [data], []

    def kernel_params(self, in_shapes):
        batch, channels, *size = in_shapes[0]
        return {"batch": batch, "channels": channels, "n": prod(size), "eps": self.eps}

    def compose_outputs(self, F, inputs, aux, training):
        data, gamma, beta = inputs
        axes = tuple(range(2, data.ndim))
        return [scale_shift(F, normalize_axes(F, data, axes, self.eps), gamma, beta, 1)]

    second_order = Rewrite(compose_outputs)


class ChannelsLastInstanceNorm(InstanceNormProperty):
    """InstanceNorm on channels-last data; `relu` is switched on by the fuse pass."""

    op_name = "InstanceNorm"
    graph = TakesReluHooks()
    relu = False
    forward = Kernel("instance_norm_last", ("data", "gamma", "beta"))

    @property
    def backward(self):  # the kernel of the gradients
        read = ("d_output", "data", "gamma", *(("beta",) if self.relu else ()))
        writes = ("d_data", "d_gamma", "d_beta")
        return Kernel("instance_norm_last_grad", read, writes, in_place=(("d_output", "d_data"),))

    def kernel_params(self, in_shapes):
        return super().kernel_params(in_shapes) | {"relu": self.relu}
