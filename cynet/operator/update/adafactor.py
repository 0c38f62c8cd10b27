"""Adafactor's update: steps along the gradient over the root of its mean square.

``step = grad / sqrt(mean square)`` with the gradient scaled and clipped, no longer than
`clip_threshold` by its root mean square; ``output = weight * (1 - decay) - lr * scale * step``. Of
a matrix (all axes but the first are one) the means of rows and of columns alone are state, of which
``rows * columns / mean(rows)`` is the mean square; of a vector all of it.
"""

from math import prod

from ..checks.dtypes import CPU_FLOATS, NARROW_FLOATS
from ..graph_hooks import GraphHooks
from ..kernel_property import Kernel, KernelProperty
from ..parameters import Float
from ..property import merge_shapes

_INPUTS = {"weight": "The weight.", "grad": "Its gradient, of the same shape."}  # docs of inputs


class AdafactorBase(KernelProperty):
    """The base of both forms of Adafactor. States of weights of 16 bits are float32."""

    graph = GraphHooks(bfloat16_loops=True)
    lr = Float(doc="Learning rate of this step.")
    decay = Float(0.0, doc="Share that the weight loses.")
    rescale_grad = Float(1.0, doc="Factor of the gradient.")
    clip_gradient = Float(
        -1.0, doc="Bound to which the rescaled gradient is clipped; negative means none."
    )
    epsilon = Float(1e-30, doc="Added to squares of gradients.")
    min_scale = Float(
        -1.0,
        doc="Least root mean square of the weight, by which the step is multiplied; negative: it is"
        " not.",
    )
    clip_threshold = Float(1.0, doc="Largest root mean square of a step.")
    share = Float(doc="Share of the new squares in the means.")
    differentiable = False
    float_types = CPU_FLOATS

    def infer_type(self, in_types, out_types):
        ins, outs, aux = super().infer_type(in_types, out_types)
        return ins, outs, ["float32" if dtype in NARROW_FLOATS else dtype for dtype in aux]


class AdafactorProperty(AdafactorBase, operator="_adafactor_update"):
    """A step of Adafactor for a weight of two axes or more, with the means of squares of gradients
    of rows and of columns."""

    forward = Kernel(
        "adafactor", ("weight", "grad"), ("output", "rows", "columns"), (("weight", "output"),)
    )
    inputs_doc = {
        **_INPUTS,
        "rows": "(n, 1): means of squares over rows of a weight (n, ...); moves.",
        "columns": "(1, m): those over columns; moves.",
    }
    example = """
    >>> weight, grad = mx.nd.ones((2, 2)), mx.nd.array([[0.5, -0.5], [0.5, 0.5]])
    >>> rows, columns = mx.nd.zeros((2, 1)), mx.nd.zeros((1, 2))
    >>> mx.nd._internal._adafactor_update(weight, grad, rows, columns, lr=0.1, share=1, out=weight)
    [[0.9 1.1]
     [0.9 0.9]]
    <NDArray 2x2 @cpu(0)>
    """

    def list_auxiliary_states(self):
        return ["rows", "columns"]

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(*in_shapes, *out_shapes)
        if shape is None:
            return [None] * 2, [None], [None] * 2
        return [shape] * 2, [shape], [(shape[0], 1), (1, prod(shape[1:]))]


class AdafactorVectorProperty(AdafactorBase, operator="_adafactor_vector_update"):
    """A step of Adafactor for a weight with a mean square of the gradient for each element."""

    forward = Kernel(
        "adafactor_vector", ("weight", "grad"), ("output", "squares"), (("weight", "output"),)
    )
    inputs_doc = {**_INPUTS, "squares": "Means of squares, of the weight's shape; moves."}
    example = """
    >>> weight, grad, squares = mx.nd.ones(2), mx.nd.array([0.5, -0.5]), mx.nd.zeros(2)
    >>> mx.nd._internal._adafactor_vector_update(weight, grad, squares, lr=0.1, share=1, out=weight)
    [0.9 1.1]
    <NDArray 2 @cpu(0)>
    """

    def list_auxiliary_states(self):
        return ["squares"]

    def infer_shape(self, in_shapes, out_shapes):
        shape = merge_shapes(*in_shapes, *out_shapes)
        return [shape] * 2, [shape], [shape]
