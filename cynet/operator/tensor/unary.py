"""Unary elementwise operators: one row a function.

``output[i] = F(data[i])`` and ``in_grad[i] = out_grad[i] * G(...)``; every shape, every dtype.
Floating functions of integers are computed in float64 and truncated.
"""

from .._base import register_operator
from .._elementwise import LoopsOperator
from ..elementwise_loop import SIMPLE, Loop
from ..graph_hooks import GraphHooks, Traits
from ..property import OperatorProperty


class UnaryHooks(GraphHooks):
    """One loop, and its gradient."""

    traits = Traits(bfloat16_loops=True)

    def forward_loops(self, prop, in_data, out_data):
        return [Loop("unary", prop.functor, (in_data[0],), out_data[0])]

    def backward_loops(self, prop, out_grad, in_data, out_data, in_grad):
        known = {"": out_grad, "x": in_data, "y": out_data}[prop.reads][0]
        return [Loop("unary_grad", prop.gradient or "zero", (out_grad[0], known), in_grad[0])]

    def one_pass(self, prop, in_shapes):
        return prop.functor in SIMPLE


class UnaryProperty(OperatorProperty):
    """Base of the rows below: one input, one output of the same shape and type."""

    inputs_doc = {"data": "The input, any shape."}
    graph = UnaryHooks()
    functor = None  # names in functors.h
    gradient = None
    reads = ""  # what the gradient functor is a function of: 'x' data, 'y' output, '' nothing

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        return {"": out_grad, "x": [*out_grad, *in_data], "y": [*out_grad, *out_data]}[self.reads]

    def forward_inplace_option(self, in_data, out_data):
        return [(in_data[0], out_data[0])]

    def backward_inplace_option(self, out_grad, in_data, out_data, in_grad):
        return [(out_grad[0], in_grad[0])]

    def create_operator(self, ctx, in_shapes, in_types):
        return LoopsOperator(self, in_types[0])


# name, functor, gradient functor (None: zero everywhere), what it reads, aliases, docstring
ROWS = [
    ("_copy", "identity", "one", "", ("identity",), "The input itself: ``output = data``."),
    ("negative", "negative", "minus_one", "", (), "Negative of each element: ``output = -data``."),
    ("abs", "abs", "sign", "x", (), "Absolute value of each element: ``output = |data|``."),
    ("sign", "sign", None, "", (), "Sign of each element: -1, 0 or 1; of NaN it is 0."),
    ("square", "square", "two_x", "x", (), "Square of each element: ``output = data ** 2``."),
    ("relu", "relu", "relu_grad_y", "y", (), "Rectified linear: ``output = max(data, 0)``."),
    ("logical_not", "logical_not", None, "", (),
     "1 where an element is 0, else 0; the input's dtype."),
    ("zeros_like", "zero", None, "", (), "Zeros of the input's shape and dtype."),
    ("ones_like", "one", None, "", (), "Ones of the input's shape and dtype."),
    ("exp", "exp", "identity", "y", (), "Exponential of each element: ``output = e ** data``."),
    ("log", "log", "reciprocal", "x", (), "Natural logarithm of each element."),
    ("log2", "log2", "log2_grad", "x", (), "Logarithm to base 2 of each element."),
    ("log10", "log10", "log10_grad", "x", (), "Logarithm to base 10 of each element."),
    ("log1p", "log1p", "log1p_grad", "x", (), "``log(1 + data)``, precise near 0."),
    ("expm1", "expm1", "expm1_grad_y", "y", (), "``e ** data - 1``, precise near 0."),
    ("sqrt", "sqrt", "sqrt_grad_y", "y", (), "Square root of each element."),
    ("rsqrt", "rsqrt", "rsqrt_grad", "x", (),
     "Reciprocal square root of each element: ``1 / sqrt(data)``."),
    ("cbrt", "cbrt", "cbrt_grad_y", "y", (), "Cube root of each element."),
    ("rcbrt", "rcbrt", "rcbrt_grad", "x", (),
     "Reciprocal cube root of each element: ``1 / cbrt(data)``."),
    ("reciprocal", "reciprocal", "reciprocal_grad", "x", (),
     "Reciprocal of each element: ``1 / data``."),
    ("_contrib_round_ste", "round", "one", "", (),
     "Nearest integer of each element, whose gradient is that of the input: straight through."),
    ("_contrib_sign_ste", "sign", "one", "", (),
     "Sign of each element, whose gradient is that of the input: straight through."),
    ("round", "round", None, "", (), "Nearest integer of each element, ties away from zero."),
    ("rint", "rint", None, "", (), "Nearest integer of each element, ties to the lower one."),
    ("ceil", "ceil", None, "", (), "Least integer that is not below each element."),
    ("floor", "floor", None, "", (), "Greatest integer that is not above each element."),
    ("trunc", "trunc", None, "", (), "Each element without its fraction."),
    ("fix", "trunc", None, "", (), "Nearest integer towards zero of each element."),
    ("sin", "sin", "cos", "x", (), "Sine of each element, in radians."),
    ("cos", "cos", "cos_grad", "x", (), "Cosine of each element, in radians."),
    ("tan", "tan", "tan_grad_y", "y", (), "Tangent of each element, in radians."),
    ("arcsin", "arcsin", "arcsin_grad", "x", (),
     "Inverse sine of each element, within [-pi/2, pi/2]."),
    ("arccos", "arccos", "arccos_grad", "x", (), "Inverse cosine of each element, within [0, pi]."),
    ("arctan", "arctan", "arctan_grad", "x", (),
     "Inverse tangent of each element, within (-pi/2, pi/2)."),
    ("sinh", "sinh", "cosh", "x", (), "Hyperbolic sine of each element."),
    ("cosh", "cosh", "sinh", "x", (), "Hyperbolic cosine of each element."),
    ("tanh", "tanh", "tanh_grad_y", "y", (), "Hyperbolic tangent of each element."),
    ("arcsinh", "arcsinh", "arcsinh_grad", "x", (), "Inverse hyperbolic sine of each element."),
    ("arccosh", "arccosh", "arccosh_grad", "x", (), "Inverse hyperbolic cosine of each element."),
    ("arctanh", "arctanh", "arctanh_grad", "x", (), "Inverse hyperbolic tangent of each element."),
    ("sigmoid", "sigmoid", "sigmoid_grad_y", "y", (),
     "Logistic function: ``output = 1 / (1 + exp(-data))``."),
    ("softsign", "softsign", "softsign_grad", "x", (),
     "``output = data / (1 + |data|)``, element by element."),
    ("erf", "erf", "erf_grad", "x", (), "Gauss error function of each element."),
    ("erfinv", "erfinv", "erfinv_grad_y", "y", (),
     "Inverse of the Gauss error function, for elements in (-1, 1)."),
    ("gamma", "gamma", "gamma_grad", "x", (), "Gamma function of each element."),
    ("gammaln", "gammaln", "gammaln_grad", "x", (),
     "Logarithm of the absolute gamma function of each element."),
    ("degrees", "degrees", "degrees_grad", "", (), "Radians to degrees, element by element."),
    ("radians", "radians", "radians_grad", "", (), "Degrees to radians, element by element."),
]

_BOOL = ("_copy", "logical_not", "zeros_like", "ones_like")

for _name, _functor, _gradient, _reads, _aliases, _doc in ROWS:
    register_operator(_name, type(_name, (UnaryProperty,), {
        "__doc__": _doc, "__module__": __name__, "functor": _functor, "gradient": _gradient,
        "reads": _reads, "differentiable": _gradient is not None,
        "graph": UnaryHooks(elementwise=True, view=_name == "_copy", takes_bool=_name in _BOOL),
    }), aliases=_aliases)
