"""Binary functions of an array and a number: one row a function.

``output[i] = F(data[i], scalar)``, or ``F(scalar, data[i])`` in the reversed rows. The number is
taken in the array's dtype: an integer array stays one, and 1.5 added to it adds 1. A number beyond
the integers of the dtype is compared as it is (`fold_out_of_range_scalar`).
"""

from .._base import register_operator
from .._elementwise import LoopsOperator
from ..elementwise_loop import SIMPLE, Loop, binary_gradients
from ..graph_hooks import GraphHooks, Traits
from ..parameters import Bool, Number
from ..property import OperatorProperty
from .binary_table import GRADIENTS, TAKES_BOOL


class BinaryScalarHooks(GraphHooks):
    """One loop, and its gradient."""

    traits = Traits(bfloat16_loops=True)

    def forward_loops(self, prop, in_data, out_data):
        return [Loop("binary", prop.functor, prop._operands(in_data[0]), out_data[0])]

    def backward_loops(self, prop, out_grad, in_data, out_data, in_grad):
        targets = (None, in_grad[0]) if prop.reverse else (in_grad[0], None)
        operands = prop._operands(in_data[0] if prop.reads_array() else out_grad[0])
        return binary_gradients(GRADIENTS[prop.functor], out_grad[0], *operands, targets)

    def one_pass(self, prop, in_shapes):
        return prop.functor in SIMPLE


class BinaryScalarProperty(OperatorProperty):
    """Base of the rows below: one array, one number."""

    inputs_doc = {"data": "The array operand, any shape."}
    scalar = Number(1.0, doc="The number operand.")
    is_int = Bool(True, doc="Whether the number was written as an int; without effect.")
    functor = None
    graph = BinaryScalarHooks(elementwise=True)
    reverse = False  # the number is the left operand

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data] if self.reads_array() else out_grad

    def reads_array(self):
        """Whether the gradient depends on the array, not on the number alone."""
        gradient = GRADIENTS[self.functor]
        functor = gradient.rhs if self.reverse else gradient.lhs
        return gradient.reads and functor not in (
            ("grad_left",) if self.reverse else ("grad_one", "grad_right", "div_lgrad"))

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def _operands(self, array):
        return (self.scalar, array) if self.reverse else (array, self.scalar)

    def create_operator(self, ctx, in_shapes, in_types):
        return LoopsOperator(self, in_types[0])


# name, functor, reversed, aliases, docstring
ROWS = [
    ("_plus_scalar", "plus", False, ("_PlusScalar",), "A number added to each element."),
    ("_minus_scalar", "minus", False, ("_MinusScalar",), "A number subtracted from each element."),
    ("_rminus_scalar", "minus", True, ("_RMinusScalar",), "Each element subtracted from a number."),
    ("_mul_scalar", "mul", False, ("_MulScalar",), "Each element multiplied by a number."),
    ("_div_scalar", "div", False, ("_DivScalar",), "Each element divided by a number."),
    ("_rdiv_scalar", "div", True, ("_RDivScalar",), "A number divided by each element."),
    ("_mod_scalar", "mod", False, ("_ModScalar",),
     "Remainder of each element divided by a number."),
    ("_rmod_scalar", "mod", True, ("_RModScalar",),
     "Remainder of a number divided by each element."),
    ("_power_scalar", "power", False, ("_PowerScalar",),
     "Each element raised to the power of a number."),
    ("_rpower_scalar", "power", True, ("_RPowerScalar",),
     "A number raised to the power of each element."),
    ("_maximum_scalar", "maximum", False, ("_MaximumScalar",),
     "The larger of each element and a number."),
    ("_minimum_scalar", "minimum", False, ("_MinimumScalar",),
     "The smaller of each element and a number."),
    ("_hypot_scalar", "hypot", False, ("_HypotScalar",),
     "``sqrt(data ** 2 + scalar ** 2)``, element by element."),
    ("smooth_l1", "smooth_l1", False, (),
     "``(scalar * data) ** 2 / 2`` where ``|data| < 1 / scalar ** 2``, else "
     "``|data| - 1 / (2 * scalar ** 2)`` (Girshick, \"Fast R-CNN\", 2015, equation 3, with the "
     "turning point moved)."),
    ("_equal_scalar", "equal", False, ("_EqualScalar",),
     "1 where an element equals a number, else 0."),
    ("_not_equal_scalar", "not_equal", False, ("_NotEqualScalar",),
     "1 where an element is not a number, else 0."),
    ("_greater_scalar", "greater", False, ("_GreaterScalar",),
     "1 where an element is above a number, else 0."),
    ("_greater_equal_scalar", "greater_equal", False, ("_GreaterEqualScalar",),
     "1 where an element is not below a number, else 0."),
    ("_lesser_scalar", "lesser", False, ("_LesserScalar",),
     "1 where an element is below a number, else 0."),
    ("_lesser_equal_scalar", "lesser_equal", False, ("_LesserEqualScalar",),
     "1 where an element is not above a number, else 0."),
    ("_logical_and_scalar", "logical_and", False, ("_LogicalAndScalar",),
     "1 where an element and a number are both nonzero, else 0."),
    ("_logical_or_scalar", "logical_or", False, ("_LogicalOrScalar",),
     "1 where an element or a number is nonzero, else 0."),
    ("_logical_xor_scalar", "logical_xor", False, ("_LogicalXorScalar",),
     "1 where exactly one of an element and a number is nonzero, else 0."),
]

for _name, _functor, _reverse, _aliases, _doc in ROWS:
    register_operator(_name, type(_name, (BinaryScalarProperty,), {
        "__doc__": _doc, "__module__": __name__, "functor": _functor, "reverse": _reverse,
        "unlisted": () if _name.startswith("_") else ("is_int",),
        "graph": BinaryScalarHooks(
            elementwise=True, takes_bool=_functor in TAKES_BOOL,
            bfloat16_loops=_name != "smooth_l1"),
        "differentiable": GRADIENTS[_functor].exists}), aliases=_aliases)
