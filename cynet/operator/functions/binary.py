"""The table of functions of two elements: one row with its operators for each."""

import math

from ..precision import FLOAT32, WIDEST, Precision
from ..second_order import Array, Flat, Linear, Operators
from ..sparse.elementwise import (
    BROADCAST_PRODUCT,
    BROADCAST_QUOTIENT,
    DIFFERENCE,
    PRODUCT,
    SUM_OF_TWO,
)
from .examples import example_lines
from .row import BOOL, FLOAT, Binary, Form, Gradient

_ZERO_GRAD = Gradient("grad_one", "grad_one", False, False)  # both gradients are 0
_IN_FLOAT32 = Precision(FLOAT32)  # mixed precision keeps float32
_PRODUCT_RULE = Linear({0: (1,), 1: (0,)})  # linear in either operand


def _power_grad_of_base(F: Operators, a: Array, b: Array) -> Array:
    """b a^(b - 1), which is 0 for b = 0."""
    none = b == 0
    b = F.where(none, F.ones_like(b), b)
    return F.where(none, F.zeros_like(b), b * a ** (b - 1))


def _power_grad_of_exponent(F: Operators, a: Array, b: Array) -> Array:
    """a^b log(a), which is 0 for a = 0 and b > 0."""
    a = F.where((a == 0) * (b > 0), F.ones_like(a), a)
    return a**b * F.log(a)


def _power_of_scalar_grad(F: Operators, x: Array, s: float) -> Array:
    if s > 0:
        return F.broadcast_power(x * 0 + s, x) * math.log(s)
    return _power_grad_of_exponent(F, F.zeros_like(x) + s, x)


def _smooth_l1_grad(F: Operators, x: Array, s: float) -> Array:
    square = s * s
    inside = F.abs(x) <= (1 / square if square else math.inf)
    return F.where(inside, x * square, F.sign(x))


def _gcd_lcm_example(call: str, output: str) -> str:
    return example_lines(f"{call}(mx.nd.array([3, 8, 5]), mx.nd.array([4, 6, 12]))", output)


def _truth_example(call: str, output: str) -> str:
    return example_lines(f"{call}(mx.nd.array([0, 0, 1, 1]), mx.nd.array([0, 1, 0, 1]))", output)


def _truth_table_example(call: str, output: str) -> str:
    return example_lines(
        f"x = mx.nd.array([[0], [1]])\n>>> {call}(x, mx.nd.array([[0, 1]]))", output
    )


# fmt: off
BINARY = (  # a row for each function of two arrays
    Binary("add", "plus", Gradient("grad_one", "grad_one", False), sign="+", method="add",
        simple=True, onnx="Add",
        same=Form("elemwise_add", "Sum of two arrays of one shape.", "[5. 7. 9.]",
            aliases=("_plus", "_Plus", "_add"), derivative=Linear(), sparse=SUM_OF_TWO),
        broadcast=Form("broadcast_add", "Sum of two arrays, broadcast.", "[[4. 4.]\n [6. 6.]]",
            aliases=("broadcast_plus",), derivative=Linear(), sparse=SUM_OF_TWO),
        scalar=Form("_plus_scalar", "A number added to each element.", "[3. 4. 6.]",
            aliases=("_PlusScalar",), derivative=Flat(), at_zero=lambda s: s)),
    Binary("subtract", "minus", Gradient("grad_one", "grad_minus_one", False),
        sign="-", method="sub", simple=True, onnx="Sub",
        same=Form("elemwise_sub", "Difference of two arrays of one shape.", "[-3. -3. -3.]",
            aliases=("_minus", "_Minus", "_sub"), derivative=Linear(), sparse=DIFFERENCE),
        broadcast=Form("broadcast_sub", "Difference of two arrays, broadcast.",
            "[[-2.  0.]\n [ 0.  2.]]", aliases=("broadcast_minus",), derivative=Linear(),
            sparse=DIFFERENCE),
        scalar=Form("_minus_scalar", "A number subtracted from each element.", "[-1.  0.  2.]",
            aliases=("_MinusScalar",), derivative=Flat(), at_zero=lambda s: -s),
        reflected=Form("_rminus_scalar", "Each element subtracted from a number.", "[ 1.  0. -2.]",
            aliases=("_RMinusScalar",), derivative=Flat())),
    Binary("multiply", "mul", Gradient("grad_right", "grad_left"), sign="*", method="mul",
        simple=True, onnx="Mul",
        same=Form("elemwise_mul", "Product of two arrays of one shape, element by element.",
            "[ 4. 10. 18.]", aliases=("_mul", "_Mul"), derivative=_PRODUCT_RULE, sparse=PRODUCT),
        broadcast=Form("broadcast_mul", "Product of two arrays element by element, broadcast.",
            "[[3. 4.]\n [9. 8.]]", derivative=_PRODUCT_RULE, amp=Precision(WIDEST),
            sparse=BROADCAST_PRODUCT),
        scalar=Form("_mul_scalar", "Each element multiplied by a number.", "[2. 4. 8.]",
            aliases=("_MulScalar",), derivative=Linear(), at_zero=lambda s: 0 * s)),
    Binary("divide", "div", Gradient("div_lgrad", "div_rgrad"), sign="/", method="truediv",
        simple=True, result=FLOAT, onnx="Div",
        derivatives=(lambda F, a, b: F.reciprocal(b), lambda F, a, b: -a / F.square(b)),
        same=Form("elemwise_div", "Quotient of two arrays of one shape.", "[0.25 0.4  0.5 ]",
            aliases=("_div", "_Div"), in_sparse=True),
        broadcast=Form("broadcast_div", "Quotient of two arrays, broadcast.",
            "[[0.33333334 1.        ]\n [1.         2.        ]]", sparse=BROADCAST_QUOTIENT),
        scalar=Form("_div_scalar", "Each element divided by a number.", "[0.5 1.  2. ]",
            aliases=("_DivScalar",), derivative=Linear(),
            at_zero=lambda s: 0 / s if s else math.nan),
        reflected=Form("_rdiv_scalar", "A number divided by each element.", "[2.  1.  0.5]",
            aliases=("_RDivScalar",), derivative=lambda F, x, s: -s / F.square(x),
            amp=_IN_FLOAT32)),
    Binary("modulo", "mod", Gradient("grad_one", "mod_rgrad"), sign="%", method="mod",
        derivatives=(lambda F, a, b: F.ones_like(a), lambda F, a, b: -F.floor(a / b)),
        same=Form("_mod", "Remainder with the sign of the divisor; 0 where the divisor is 0.",
            "[1. 0. 3.]", aliases=("_Mod",)),
        broadcast=Form("broadcast_mod", "Remainder with the sign of the divisor, broadcast.",
            "[[1. 0.]\n [0. 0.]]"),
        scalar=Form("_mod_scalar", "Remainder of each element divided by a number.", "[1. 0. 0.]",
            aliases=("_ModScalar",), derivative=Flat()),
        reflected=Form("_rmod_scalar", "Remainder of a number divided by each element.",
            "[0. 0. 2.]", aliases=("_RModScalar",), derivative=lambda F, x, s: -F.floor(s / x))),
    Binary("power", "power", Gradient("power_lgrad", "power_rgrad"), sign="**", method="pow",
        amp=_IN_FLOAT32, derivatives=(_power_grad_of_base, _power_grad_of_exponent), onnx="Pow",
        same=Form("_power", "``lhs ** rhs``, element by element.", "[25.  4. 81.]",
            aliases=("_Power",)),
        broadcast=Form("broadcast_power", "``lhs ** rhs`` element by element, broadcast.",
            "[[ 1.  4.]\n [27. 16.]]"),
        scalar=Form("_power_scalar", "Each element raised to the power of a number.",
            "[ 1.  4. 16.]", aliases=("_PowerScalar",),
            derivative=lambda F, x, s: s * x ** (s - 1) if s else F.zeros_like(x)),
        reflected=Form("_rpower_scalar", "A number raised to the power of each element.",
            "[ 2.  4. 16.]", aliases=("_RPowerScalar",), derivative=_power_of_scalar_grad)),
    Binary("maximum", "maximum", Gradient("greater_equal", "lesser"), simple=True,
        derivatives=(lambda F, a, b: a >= b, lambda F, a, b: a < b), onnx="Max",
        same=Form("_maximum", "The larger of two elements; NaN if one is.",
            _gcd_lcm_example("mx.nd.op._maximum", "[ 4.  8. 12.]"),
            aliases=("_Maximum",), derivative=Flat()),
        broadcast=Form("broadcast_maximum", "The larger of two elements, broadcast.",
            "[[3. 2.]\n [3. 4.]]"),
        scalar=Form("_maximum_scalar", "The larger of each element and a number.", "[2. 2. 4.]",
            aliases=("_MaximumScalar",), derivative=Flat())),
    Binary("minimum", "minimum", Gradient("lesser_equal", "greater"), simple=True,
        derivatives=(lambda F, a, b: a <= b, lambda F, a, b: a > b), onnx="Min",
        same=Form("_minimum", "The smaller of two elements; NaN if one is.",
            _gcd_lcm_example("mx.nd.op._minimum", "[3. 6. 5.]"),
            aliases=("_Minimum",), derivative=Flat()),
        broadcast=Form("broadcast_minimum", "The smaller of two elements, broadcast.",
            "[[1. 2.]\n [3. 2.]]"),
        scalar=Form("_minimum_scalar", "The smaller of each element and a number.", "[1. 2. 2.]",
            aliases=("_MinimumScalar",), derivative=Flat())),
    Binary("hypot", "hypot", Gradient("hypot_lgrad", "hypot_rgrad"), amp=_IN_FLOAT32, result=FLOAT,
        derivatives=(lambda F, a, b: a / F._hypot(a, b), lambda F, a, b: b / F._hypot(a, b)),
        same=Form("_hypot", "Hypotenuse: ``sqrt(lhs ** 2 + rhs ** 2)``.",
            _gcd_lcm_example("mx.nd.op._hypot", "[ 5. 10. 13.]"),
            aliases=("_Hypot",)),
        broadcast=Form("broadcast_hypot",
            "``sqrt(lhs ** 2 + rhs ** 2)`` element by element, broadcast.",
            "[[3.1622777 2.828427 ]\n [4.2426405 4.472136 ]]"),
        scalar=Form("_hypot_scalar", "``sqrt(data ** 2 + scalar ** 2)``, element by element.",
            example_lines("x = mx.nd.array([1, 2, 4])\n>>> mx.nd.op._hypot_scalar(x, scalar=3)",
                "[3.1622777 3.6055512 5.       ]"),
            aliases=("_HypotScalar",), derivative=lambda F, x, s: x / F.sqrt(F.square(x) + s * s))),
    Binary("", "smooth_l1", Gradient("smooth_l1_grad", None), amp=_IN_FLOAT32, result=FLOAT,
        scalar=Form("smooth_l1",
            "``(scalar * data) ** 2 / 2`` where ``|data| < 1 / scalar ** 2``, else "
            "``|data| - 1 / (2 * scalar ** 2)`` (Girshick, \"Fast R-CNN\", 2015, equation 3, with "
            "the turning point moved).",
            example_lines("mx.nd.smooth_l1(mx.nd.array([-2, -0.5, 0, 0.5, 2]), scalar=1)",
                "[1.5   0.125 0.    0.125 1.5  ]"),
            derivative=_smooth_l1_grad, bfloat16=False)),
    Binary("equal", "equal", _ZERO_GRAD, sign="==", method="eq", simple=True, result=BOOL,
        onnx="Equal",
        same=Form("_equal", "1 where two elements are equal, else 0.", "[0. 1. 0.]",
            aliases=("_Equal",)),
        broadcast=Form("broadcast_equal", "1 where two elements are equal, else 0; broadcast.",
            "[[0. 1.]\n [1. 0.]]"),
        scalar=Form("_equal_scalar", "1 where an element equals a number, else 0.", "[0. 1. 0.]",
            aliases=("_EqualScalar",), at_zero=lambda s: s == 0)),
    Binary("not_equal", "not_equal", _ZERO_GRAD, sign="!=", method="ne", simple=True, result=BOOL,
        onnx=lambda emit, a, b: emit("Not", emit("Equal", a, b)),
        same=Form("_not_equal", "1 where two elements differ, else 0.", "[1. 0. 1.]",
            aliases=("_Not_Equal",)),
        broadcast=Form("broadcast_not_equal", "1 where two elements differ, else 0; broadcast.",
            "[[1. 0.]\n [0. 1.]]"),
        scalar=Form("_not_equal_scalar", "1 where an element is not a number, else 0.",
            "[1. 0. 1.]", aliases=("_NotEqualScalar",), at_zero=lambda s: s != 0)),
    Binary("greater", "greater", _ZERO_GRAD, sign=">", method="gt", simple=True, result=BOOL,
        onnx="Greater",
        same=Form("_greater", "1 where the left element is greater, else 0.", "[1. 0. 0.]",
            aliases=("_Greater",)),
        broadcast=Form("broadcast_greater",
            "1 where the left element is greater, else 0; broadcast.", "[[0. 0.]\n [0. 1.]]"),
        scalar=Form("_greater_scalar", "1 where an element is above a number, else 0.",
            "[0. 0. 1.]", aliases=("_GreaterScalar",), at_zero=lambda s: s < 0),
        reflected="_lesser_scalar"),
    Binary("greater_equal", "greater_equal", _ZERO_GRAD, sign=">=", method="ge", simple=True,
        result=BOOL, onnx="GreaterOrEqual",
        same=Form("_greater_equal", "1 where the left element is not smaller, else 0.",
            "[1. 1. 0.]", aliases=("_Greater_Equal",)),
        broadcast=Form("broadcast_greater_equal",
            "1 where the left element is not smaller, else 0; broadcast.", "[[0. 1.]\n [1. 1.]]"),
        scalar=Form("_greater_equal_scalar", "1 where an element is not below a number, else 0.",
            "[0. 1. 1.]", aliases=("_GreaterEqualScalar",), at_zero=lambda s: s <= 0),
        reflected="_lesser_equal_scalar"),
    Binary("lesser", "lesser", _ZERO_GRAD, sign="<", method="lt", simple=True, result=BOOL,
        onnx="Less",
        same=Form("_lesser", "1 where the left element is smaller, else 0.", "[0. 0. 1.]",
            aliases=("_Lesser",)),
        broadcast=Form("broadcast_lesser",
            "1 where the left element is smaller, else 0; broadcast.", "[[1. 0.]\n [0. 0.]]"),
        scalar=Form("_lesser_scalar", "1 where an element is below a number, else 0.", "[1. 0. 0.]",
            aliases=("_LesserScalar",), at_zero=lambda s: s > 0),
        reflected="_greater_scalar"),
    Binary("lesser_equal", "lesser_equal", _ZERO_GRAD, sign="<=", method="le", simple=True,
        result=BOOL, onnx="LessOrEqual",
        same=Form("_lesser_equal", "1 where the left element is not greater, else 0.", "[0. 1. 1.]",
            aliases=("_Lesser_Equal",)),
        broadcast=Form("broadcast_lesser_equal",
            "1 where the left element is not greater, else 0; broadcast.", "[[1. 1.]\n [1. 0.]]"),
        scalar=Form("_lesser_equal_scalar", "1 where an element is not above a number, else 0.",
            "[1. 1. 0.]", aliases=("_LesserEqualScalar",), at_zero=lambda s: s >= 0),
        reflected="_greater_equal_scalar"),
    Binary("logical_and", "logical_and", _ZERO_GRAD, result=BOOL, onnx="And",
        same=Form("_logical_and", "1 where both elements are nonzero, else 0.",
            _truth_example("mx.nd.logical_and", "[0. 0. 0. 1.]"),
            aliases=("_Logical_And",)),
        broadcast=Form("broadcast_logical_and",
            "1 where both elements are nonzero, else 0; broadcast.",
            _truth_table_example("mx.nd.broadcast_logical_and", "[[0. 0.]\n [0. 1.]]")),
        scalar=Form("_logical_and_scalar",
            "1 where an element and a number are both nonzero, else 0.",
            example_lines("mx.nd.logical_and(mx.nd.array([0, 1, 2]), 1)", "[0. 1. 1.]"),
            aliases=("_LogicalAndScalar",))),
    Binary("logical_or", "logical_or", _ZERO_GRAD, result=BOOL, onnx="Or",
        same=Form("_logical_or", "1 where an element is nonzero, else 0.",
            _truth_example("mx.nd.logical_or", "[0. 1. 1. 1.]"),
            aliases=("_Logical_Or",)),
        broadcast=Form("broadcast_logical_or", "1 where an element is nonzero, else 0; broadcast.",
            _truth_table_example("mx.nd.broadcast_logical_or", "[[0. 1.]\n [1. 1.]]")),
        scalar=Form("_logical_or_scalar", "1 where an element or a number is nonzero, else 0.",
            example_lines("mx.nd.logical_or(mx.nd.array([0, 1, 2]), 1)", "[1. 1. 1.]"),
            aliases=("_LogicalOrScalar",))),
    Binary("logical_xor", "logical_xor", _ZERO_GRAD, result=BOOL, onnx="Xor",
        same=Form("_logical_xor", "1 where exactly one element is nonzero, else 0.",
            _truth_example("mx.nd.logical_xor", "[0. 1. 1. 0.]"),
            aliases=("_Logical_Xor",)),
        broadcast=Form("broadcast_logical_xor",
            "1 where exactly one element is nonzero, else 0; broadcast.",
            _truth_table_example("mx.nd.broadcast_logical_xor", "[[0. 1.]\n [1. 0.]]")),
        scalar=Form("_logical_xor_scalar",
            "1 where exactly one of an element and a number is nonzero, else 0.",
            example_lines("mx.nd.logical_xor(mx.nd.array([0, 1, 2]), 1)", "[1. 0. 0.]"),
            aliases=("_LogicalXorScalar",))),
)
# fmt: on
