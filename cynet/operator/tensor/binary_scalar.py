"""Operators of the functions of two elements, on an array and a number (``functions/binary.py``).

``output[i] = F(data[i], scalar)``, or ``F(scalar, data[i])`` in the reflected ones. The number is
taken in the array's dtype: an integer array stays one, and 1.5 added to it adds 1. A number beyond
the integers of the dtype is compared as it is (`fold_out_of_range_scalar`).
"""

from .._elementwise import LoopsOperator
from ..elementwise_loop import CHEAP_FUNCTORS, Loop, binary_gradient_loops
from ..functions.classes import register_binary
from ..graph_hooks import GraphHooks, Traits
from ..parameters import Bool, Number
from ..property import OperatorProperty


class BinaryScalarHooks(GraphHooks):
    """Graph hooks: the operator is one loop, and so is its gradient."""

    traits = Traits(bfloat16_loops=True)

    def forward_loops(self, prop, in_data, out_data):
        return [Loop("binary", prop.functor, prop._ordered_operands(in_data[0]), out_data[0])]

    def backward_loops(self, prop, out_grad, in_data, out_data, in_grad):
        targets = (None, in_grad[0]) if prop.reverse else (in_grad[0], None)
        operands = prop._ordered_operands(in_data[0] if prop.grad_reads_array() else out_grad[0])
        return binary_gradient_loops(prop.gradients, out_grad[0], *operands, targets)

    def is_memory_bound(self, prop, in_shapes):
        return prop.functor in CHEAP_FUNCTORS


class BinaryScalarProperty(OperatorProperty):
    """Base class of operators on one array and one number."""

    inputs_doc = {"data": "The array operand, any shape."}
    scalar = Number(1.0, doc="The number operand.")
    is_int = Bool(True, doc="Whether the number was written as an int; without effect.")
    function = functor = gradients = None  # names of the function and of its functors
    graph = BinaryScalarHooks(elementwise=True)
    reverse = False  # the number is the left operand
    computes_in_place = True

    @staticmethod
    def class_attributes(row, form):
        return {
            "unlisted": () if form.name.startswith("_") else ("is_int",),
            "graph": BinaryScalarHooks(
                elementwise=True, takes_bool=not row.gradient.exists, bfloat16_loops=form.bfloat16
            ),
        }

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data] if self.grad_reads_array() else out_grad

    def grad_reads_array(self):
        """Return whether the gradient depends on the array, not on the number alone."""
        gradient = self.gradients
        functor = gradient.rhs if self.reverse else gradient.lhs
        return gradient.reads and functor not in (
            ("grad_left",) if self.reverse else ("grad_one", "grad_right", "div_lgrad")
        )

    def _ordered_operands(self, array):
        return (self.scalar, array) if self.reverse else (array, self.scalar)

    def create_operator(self, ctx, in_shapes, in_types):
        return LoopsOperator(self, in_types[0])


register_binary(BinaryScalarProperty, "scalar")
register_binary(BinaryScalarProperty, "reflected", reverse=True)
