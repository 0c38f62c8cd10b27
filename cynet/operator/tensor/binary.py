"""Binary elementwise operators on two arrays of one shape: one row a function.

``output[i] = F(lhs[i], rhs[i])``; the gradients are ``out_grad[i] * G(lhs[i], rhs[i])`` with one G
a side. Comparisons give 1 and 0 in the inputs' dtype. Integer division truncates; by zero it gives
0.
"""

from .._base import register_operator
from .._elementwise import LoopsOperator
from ..elementwise_loop import SIMPLE, Loop, binary_gradients
from ..graph_hooks import GraphHooks, Traits
from ..property import OperatorProperty
from .binary_table import GRADIENTS, TAKES_BOOL


class BinaryHooks(GraphHooks):
    """One loop, and its gradients."""

    traits = Traits(bfloat16_loops=True)

    def forward_loops(self, prop, in_data, out_data):
        return [Loop("binary", prop.functor, tuple(in_data), out_data[0])]

    def backward_loops(self, prop, out_grad, in_data, out_data, in_grad):
        return binary_gradients(GRADIENTS[prop.functor], out_grad[0], *in_data, in_grad)

    def one_pass(self, prop, in_shapes):
        return prop.functor in SIMPLE


class BinaryProperty(OperatorProperty):
    """Base of the rows below: two inputs and an output of one shape and type."""

    inputs_doc = {"lhs": "The left operand.", "rhs": "The right operand, of the same shape."}
    functor = None
    graph = BinaryHooks(elementwise=True)

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return [*out_grad, *in_data] if GRADIENTS[self.functor].reads else out_grad

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0]), (in_data[1], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        # the gradient of lhs is written first, that of rhs still needs out_grad
        return [(out_grad[0], in_grad[1])]

    def create_operator(self, ctx, in_shapes, in_types):
        return LoopsOperator(self, in_types[0])


# name, functor, aliases, docstring
ROWS = [
    ("elemwise_add", "plus", ("_plus", "_Plus", "_add"), "Sum of two arrays of one shape."),
    ("_grad_add", "plus", (), "Sum of two gradients of one array."),
    ("elemwise_sub", "minus", ("_minus", "_Minus", "_sub"),
     "Difference of two arrays of one shape."),
    ("elemwise_mul", "mul", ("_mul", "_Mul"),
     "Product of two arrays of one shape, element by element."),
    ("elemwise_div", "div", ("_div", "_Div"), "Quotient of two arrays of one shape."),
    ("_mod", "mod", ("_Mod",), "Remainder with the sign of the divisor; 0 where the divisor is 0."),
    ("_power", "power", ("_Power",), "``lhs ** rhs``, element by element."),
    ("_maximum", "maximum", ("_Maximum",), "The larger of two elements; NaN if one is."),
    ("_minimum", "minimum", ("_Minimum",), "The smaller of two elements; NaN if one is."),
    ("_hypot", "hypot", ("_Hypot",), "Hypotenuse: ``sqrt(lhs ** 2 + rhs ** 2)``."),
    ("_equal", "equal", ("_Equal",), "1 where two elements are equal, else 0."),
    ("_not_equal", "not_equal", ("_Not_Equal",), "1 where two elements differ, else 0."),
    ("_greater", "greater", ("_Greater",), "1 where the left element is greater, else 0."),
    ("_greater_equal", "greater_equal", ("_Greater_Equal",),
     "1 where the left element is not smaller, else 0."),
    ("_lesser", "lesser", ("_Lesser",), "1 where the left element is smaller, else 0."),
    ("_lesser_equal", "lesser_equal", ("_Lesser_Equal",),
     "1 where the left element is not greater, else 0."),
    ("_logical_and", "logical_and", ("_Logical_And",),
     "1 where both elements are nonzero, else 0."),
    ("_logical_or", "logical_or", ("_Logical_Or",), "1 where an element is nonzero, else 0."),
    ("_logical_xor", "logical_xor", ("_Logical_Xor",),
     "1 where exactly one element is nonzero, else 0."),
]

for _name, _functor, _aliases, _doc in ROWS:
    register_operator(_name, type(_name, (BinaryProperty,), {
        "__doc__": _doc, "__module__": __name__, "functor": _functor,
        "graph": BinaryHooks(
            elementwise=True, passes_gradient=_functor == "plus", adds_two=_name == "elemwise_add",
            takes_bool=_functor in TAKES_BOOL),
        "differentiable": GRADIENTS[_functor].exists}), aliases=_aliases)
