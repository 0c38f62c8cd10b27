"""IdentityAttachKLSparseReg: the data itself, with a penalty's gradient for sparse activations.

data (n, k, ...) with values in (0, 1). There is a running mean r (k) of each unit's activation: r =
momentum r + (1 - momentum) mean(data); backward gives, with target t,
in_grad = out_grad + penalty * ((1 - t) / (1 - r) - t / r).
"""

from ...base.errors import ShapeError
from ..checks.dtypes import NARROW_FLOATS
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Float
from ..precision import FLOAT32, Precision
from ..property import merge_shapes
from ..second_order import Refused
from ..tensor.axes import params_along_axis


class KlSparseRegProperty(KernelProperty, operator="IdentityAttachKLSparseReg"):
    """The input itself; backward adds the gradient of a divergence from sparse activations.

    The running mean of each unit's activation (second axis of data) is `moving_avg`, which
    a forward pass in training moves on.
    """

    inputs_doc = {"data": "Activations in (0, 1), shape (n, k, ...)."}
    forward = Kernel("kl_sparse", ("data",), ("output", "moving_avg"))
    backward = Kernel("kl_sparse_grad", ("d_output", "moving_avg"), ("d_data",))
    unlisted = ("moving_avg",)
    variable_attrs = {"moving_avg": {"__init__": '["zero", {}]'}}
    graph = GraphHooks(float32_beside_half=("moving_avg",))
    sparseness_target = Float(0.1, doc="Mean activation that is aimed at.", low=0, high=1)
    penalty = Float(0.001, doc="Weight of the divergence.")
    momentum = Float(0.9, doc="Share of the running mean that each step keeps.", low=0, high=1)
    second_order = Refused("The gradient adds that of a divergence from a moving mean.")
    amp = Precision(FLOAT32)
    example = """
    >>> x = mx.nd.array([[0.1, 0.2], [0.3, 0.4]])
    >>> mx.nd.IdentityAttachKLSparseReg(x, mx.nd.zeros(2), sparseness_target=0.1)
    [[0.1 0.2]
     [0.3 0.4]]
    <NDArray 2x2 @cpu(0)>
    """

    def list_auxiliary_states(self):
        return ["moving_avg"]

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(in_shapes[0], out_shapes[0])
        if shape is None:
            return [None], [None], [None]
        if len(shape) < 2:
            raise ShapeError(
                f"operator {self.op_name}: 'data' has shape {tuple(shape)}, expected "
                "at least two axes"
            )
        return [shape], [shape], [(shape[1],)]

    def infer_type(self, in_types, out_types):
        in_types, out_types, aux = super().infer_type(in_types, out_types)
        return in_types, out_types, ["float32" if t in NARROW_FLOATS else t for t in aux]

    def kernel_params(self, in_shapes):
        return {
            **params_along_axis(in_shapes[0], 1),
            "target": self.sparseness_target,
            "penalty": self.penalty,
            "momentum": self.momentum,
        }
