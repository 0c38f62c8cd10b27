"""Operators of the binary functions, on arrays of one shape (``functions/binary.py``).

``output[i] = F(lhs[i], rhs[i])``; the gradients are ``out_grad[i] * G(lhs[i], rhs[i])`` with one G
a side. Comparisons give 1 and 0 in the inputs' dtype. Integer division truncates; by zero it gives
0.
"""

from .._elementwise import LoopsOperator
from ..elementwise_loop import CHEAP_FUNCTORS, Loop, binary_gradient_loops
from ..functions.classes import register_binary
from ..functions.row import Gradient
from ..graph_hooks import GraphHooks, Traits
from ..property import OperatorProperty
from ..second_order import Linear


class BinaryHooks(GraphHooks):
    """Graph hooks: the operator is one loop, and so is each gradient."""

    traits = Traits(bfloat16_loops=True)

    def forward_loops(self, prop, in_data, out_data):
        return [Loop("binary", prop.functor, tuple(in_data), out_data[0])]

    def backward_loops(self, prop, out_grad, in_data, out_data, in_grad):
        return binary_gradient_loops(prop.gradients, out_grad[0], *in_data, in_grad)

    def is_memory_bound(self, prop, in_shapes):
        return prop.functor in CHEAP_FUNCTORS


class BinaryProperty(OperatorProperty):
    """Base class of binary operators: two inputs and an output of one shape and type."""

    inputs_doc = {"lhs": "The left operand.", "rhs": "The right operand, of the same shape."}
    function = functor = gradients = None  # names of the function and of its functors
    graph = BinaryHooks(elementwise=True)

    @staticmethod
    def class_attributes(row, form):
        adds = row.functor == "plus"
        return {
            "graph": BinaryHooks(
                elementwise=True,
                passes_gradient=adds,
                adds_two=adds,
                takes_bool=not row.gradient.exists,
            )
        }

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0]), (in_data[1], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        # the gradient of lhs is written first, and that of rhs still needs out_grad
        return [(out_grad[0], in_grad[1])]

    def create_operator(self, ctx, in_shapes, in_types):
        return LoopsOperator(self, in_types[0])


class GradAddProperty(BinaryProperty, operator="_grad_add"):
    """Sum of two gradients of one array."""

    functor, gradients = "plus", Gradient("grad_one", "grad_one", False)
    backward_reads = gradients.backward_reads
    graph = BinaryHooks(elementwise=True, passes_gradient=True)
    second_order = Linear()
    example = """
    >>> mx.nd.op._grad_add(mx.nd.array([1, 2]), mx.nd.array([3, 4]))
    [4. 6.]
    <NDArray 2 @cpu(0)>
    """


register_binary(BinaryProperty, "same")
