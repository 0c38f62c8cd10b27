"""AdaGrad with one number of history for each row of a weight.

``history += mean(g ** 2)`` over each row, ``output = weight - lr * g / sqrt(history + epsilon)``
with the gradient ``g`` scaled and clipped. weight and grad are (n, ...), history is (n, 1).
"""

from ...base.errors import ShapeError
from ..checks.dtypes import GPU_FLOATS, require_floats
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Float
from ..property import merge_shapes


class GroupAdaGradProperty(KernelProperty, operator="_contrib_group_adagrad_update"):
    """AdaGrad with one number for each row: ``history += mean(g ** 2)`` over a row, ``output =
    weight - lr * g / sqrt(history + epsilon)`` with ``g = rescale_grad * grad``, clipped."""

    lr = Float(doc="Learning rate.")
    rescale_grad = Float(1.0, doc="Factor of the gradient.")
    clip_gradient = Float(
        -1.0, doc="Bound to which the rescaled gradient is clipped; negative means none."
    )
    epsilon = Float(1e-5, doc="Added under the root.")
    differentiable = False
    floats = ()
    forward = Kernel(
        "group_adagrad", ("weight", "grad"), ("output", "history"), (("weight", "output"),)
    )
    inputs_doc = {
        "weight": "The weight, of two axes or more.",
        "grad": "Its gradient, of the same shape.",
        "history": "(n, 1) for a weight (n, ...); moves.",
    }
    example = """
    >>> weight, grad = mx.nd.ones((2, 2)), mx.nd.array([[0.5, 0.5], [0, 0]])
    >>> history = mx.nd.zeros((2, 1))
    >>> mx.nd.contrib.group_adagrad_update(weight, grad, history, lr=0.1, out=weight)
    [[0.900002 0.900002]
     [1.       1.      ]]
    <NDArray 2x2 @cpu(0)>
    """

    def list_auxiliary_states(self):
        return ["history"]

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(*in_shapes, *out_shapes)
        if shape is not None and len(shape) < 2:
            raise ShapeError(f"the weight has shape {shape}, expected two axes or more")
        history = None if shape is None else (shape[0], *(1 for _ in shape[1:]))
        return [shape] * 2, [shape], [history]

    def create_operator(self, ctx, in_shapes, in_types):
        require_floats(self, self.list_arguments(), in_types, GPU_FLOATS)
        return super().create_operator(ctx, in_shapes, in_types)
