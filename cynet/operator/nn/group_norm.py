"""GroupNorm: out = (data - mean) / sqrt(var + eps) * gamma + beta, group by group of channels.

data and out (N, C, ...); gamma and beta (G,); mean and std (N, G).
"""

from math import prod

from ...base.errors import ShapeError
from ..checks.shapes import unify_shapes
from ..graph_hooks import GraphHooks
from ..kernel_property import KernelProperty
from ..parameters import Bool, Float, Int
from ..precision import FLOAT32, Precision
from ..property import merge_shapes
from ..second_order import Rewrite
from .instance_norm import InstanceNormProperty
from .normalization_composed import normalize_axes, scale_shift


class GroupNormProperty(KernelProperty, operator="GroupNorm"):
    """Normalize each group of channels of each sample, then scale and shift it.

    The C channels are cut into `num_groups` groups of neighbors; ``out = (data - mean) / sqrt(var
    + eps) * gamma + beta`` with mean, variance, gamma and beta of each group (Wu and He, 2018).
    """

    num_groups = Int(1, doc="Number of groups that the channels are split into.", low=1)
    eps = Float(1e-5, doc="Added to the variance.", low=0.0)
    output_mean_var = Bool(False, doc="Also give the mean and sqrt(var + eps) as outputs (N, G).")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, ...).", "gamma": "Scale (G,).", "beta": "Shift (G,)."}
    forward = InstanceNormProperty.forward
    backward = InstanceNormProperty.backward
    amp = Precision(FLOAT32)
    drawn_as = "norm"
    example = """
    >>> x = mx.nd.array([[[1], [3], [10], [30]]])
    >>> mx.nd.GroupNorm(x, mx.nd.ones(2), mx.nd.zeros(2), num_groups=2).reshape((4,))
    [-0.999995    0.999995   -0.99999994  0.99999994]
    <NDArray 4 @cpu(0)>
    """

    def list_outputs(self):
        return ["output", "mean", "std"] if self.output_mean_var else ["output"]

    def infer_shape(self, in_shapes, out_shapes):
        data, groups = merge_shapes(in_shapes[0], out_shapes[0]), (self.num_groups,)
        if data is not None:
            if len(data) < 3:
                raise ShapeError(f"data has shape {data}, expected (N, C, ...), at least 3 axes")
            if data[1] % self.num_groups:
                raise ShapeError(
                    f"data has {data[1]} channels, not a multiple of num_groups {self.num_groups}"
                )
        scales = [unify_shapes(n, s, groups) for n, s in zip(("gamma", "beta"), in_shapes[1:])]
        line = (0 if data is None else data[0], *groups)
        lines = [unify_shapes(n, s, line) for n, s in zip(("mean", "std"), out_shapes[1:])]
        return [data, *scales], [data, *lines], []

    def kernel_params(self, in_shapes):
        batch, *size = in_shapes[0]
        n = prod(size) // self.num_groups
        return {"batch": batch, "channels": self.num_groups, "n": n, "eps": self.eps}

    def compose_outputs(self, F, inputs, aux, training):
        data, gamma, beta = inputs
        groups = data.reshape((data.shape[0], self.num_groups, -1))
        out = scale_shift(F, normalize_axes(F, groups, (2,), self.eps), gamma, beta, 1)
        return [out.reshape(data.shape)]

    second_order = Rewrite(compose_outputs)
