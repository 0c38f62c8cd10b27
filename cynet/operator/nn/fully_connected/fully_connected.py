"""FullyConnected: out = data weight^T + bias; data (N, K), weight (M, K), bias (M,), out (N, M)."""

from math import prod

from ....base.errors import ShapeError
from ....kernels.conv import onednn
from ...checks.dtypes import FLOATS, require_float_cpu
from ...checks.shapes import unify_shapes
from ...parameters import Bool, Int
from ...precision import LOW, Precision
from ...products import is_own_kernel
from ...property import OperatorProperty, ResourceRequest
from ...second_order import Linear
from ...sparse.products import FULLY_CONNECTED
from ..fused_activation import FoldsActivation, FoldsActivationHooks
from . import select


class FullyConnectedHooks(FoldsActivationHooks):
    """Graph hooks of FullyConnected: products of our own mask the gradient of data."""

    def can_apply(self, prop, act_type, in_shapes, in_types):
        desc = select.describe_layer(prop, in_shapes, in_types)
        return onednn.has_activation(act_type) and select.applies_activation(desc)

    def can_mask_gradient(self, prop, in_shapes, in_types):
        return is_own_kernel(self.algorithms(prop, in_shapes, in_types)["forward"])

    def algorithms(self, prop, in_shapes, in_types):
        return select.choices_by_pass(select.describe_layer(prop, in_shapes, in_types))

    def takes_bfloat16(self, prop, in_shapes, in_types):
        return set(in_types) == {"bfloat16"} and onednn.takes_bfloat16()


class FullyConnectedProperty(FoldsActivation, OperatorProperty, operator="FullyConnected"):
    """Linear map of the last axis (or of all axes but the first): ``out = data . weight^T + bias``.

    With `flatten`, data of shape (N, d1, d2, ...) is read as (N, d1*d2*...) and out is (N,
    num_hidden). Without it the map is applied along the last axis: (d0, ..., K) becomes (d0, ...,
    num_hidden).
    """

    num_hidden = Int(doc="Number of outputs of the map.", low=1)
    no_bias = Bool(False, doc="Leave out the bias.")
    flatten = Bool(True, doc="Collapse all axes but the first before the map.")

    graph = FullyConnectedHooks(float32_beside_half=())
    inputs_doc = {
        "data": "Input, at least 1-d.",
        "weight": "Matrix (num_hidden, input size).",
        "bias": "Vector (num_hidden,).",
    }
    second_order = Linear({0: (1,), 1: (0,), 2: ()})
    sparse = FULLY_CONNECTED
    amp = Precision(LOW, LOW)
    in_sparse = ("FullyConnected",)
    drawn_as = "weighted"
    example = """
    >>> x = mx.nd.array([[1, 2]])
    >>> weight = mx.nd.array([[1, 0], [0, 1], [1, 1]])
    >>> bias = mx.nd.array([0, 0, 10])
    >>> mx.nd.FullyConnected(x, weight, bias, num_hidden=3)
    [[ 1.  2. 13.]]
    <NDArray 1x3 @cpu(0)>
    """

    def list_arguments(self):
        return ["data", "weight"] if self.no_bias else ["data", "weight", "bias"]

    def infer_shape(self, in_shapes, out_shapes):
        data, weight = in_shapes[0], in_shapes[1]
        out = out_shapes[0]
        hidden = self.num_hidden
        weight = unify_shapes("weight", weight, (hidden, 0))
        if data is not None:
            if len(data) == 0:
                raise ShapeError("data must have at least one axis")
            units = prod(data[1:]) if self.flatten else data[-1]
            weight = unify_shapes("weight", weight, (hidden, units))
            out = unify_shapes(
                "output", out, (data[0], hidden) if self.flatten else (*data[:-1], hidden)
            )
            if self.flatten:
                if out[0] and not data[0]:
                    data = (out[0], *data[1:])
                if len(data) == 2:
                    data = (data[0], data[1] or weight[1])
            else:
                data = (*out[:-1], data[-1] or weight[1])
        elif out is not None:
            out = unify_shapes(
                "output", out, (0, hidden) if self.flatten else (*(0,) * (len(out) - 1), hidden)
            )
            if not self.flatten:
                data = (*out[:-1], weight[1])
        shapes = [data, weight]
        if not self.no_bias:
            shapes.append(unify_shapes("bias", in_shapes[2], (hidden,)))
        return shapes, [out], []

    def forward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def backward_resource(self, in_shapes):
        return [ResourceRequest.temp_space]

    def row_count(self, data):
        """Return how many vectors the map is applied to in data of this shape."""
        return data[0] if self.flatten else prod(data[:-1])

    def create_operator(self, ctx, in_shapes, in_types):
        require_float_cpu(self, ctx, self.list_arguments(), in_types, (*FLOATS, "bfloat16"))
        return select.create_operator(select.describe_layer(self, in_shapes, in_types), self)
