"""GroupNorm: out = (data - mean) / sqrt(var + eps) * gamma + beta, group by group of channels.

data and out (N, C, ...); gamma and beta (G,); mean and std (N, G).
"""

from math import prod

from ...base.errors import ShapeError
from .._base import register_operator
from ..checks.dtypes import require_float_cpu
from ..checks.shapes import agree
from ..graph_hooks import GraphHooks
from ..parameters import Bool, Float, Int
from ..property import OperatorProperty, ResourceRequest, merge_shapes
from .instance_norm import InstanceNormOperator


class GroupNormProperty(OperatorProperty):
    """Normalize each group of channels of each sample, then scale and shift it.

    The C channels are cut into `num_groups` groups of neighbours; ``out = (data - mean) / sqrt(var
    + eps) * gamma + beta`` with mean, variance, gamma and beta of each group (Wu and He, 2018).
    """

    num_groups = Int(1, doc="Number of groups that the channels are cut into.", low=1)
    eps = Float(1e-5, doc="Added to the variance.", low=0.0)
    output_mean_var = Bool(False, doc="Also give the mean and sqrt(var + eps) as outputs (N, G).")

    graph = GraphHooks(float32_beside_half=())
    inputs_doc = {"data": "Input (N, C, ...).", "gamma": "Scale (G,).", "beta": "Shift (G,)."}

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
        scales = [agree(n, s, groups) for n, s in zip(("gamma", "beta"), in_shapes[1:])]
        line = (0 if data is None else data[0], *groups)
        lines = [agree(n, s, line) for n, s in zip(("mean", "std"), out_shapes[1:])]
        return [data, *scales], [data, *lines], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space] if self.output_mean_var else []

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [out_grad[0], in_data[0], in_data[1]]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types)
        batch, *size = in_shapes[0]
        return InstanceNormOperator(batch, self.num_groups, prod(size) // self.num_groups, self.eps)


register_operator("GroupNorm", GroupNormProperty)
