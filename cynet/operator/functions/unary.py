"""The table of unary functions: one row for each.

Floating functions of integers are computed in float64 and truncated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..precision import EITHER, FLOAT32, Precision
from ..second_order import Flat, Linear
from ..sparse.elementwise import NEEDS_DENSE
from .row import BOOL, FLOAT, Unary

if TYPE_CHECKING:
    from collections.abc import Callable

_ROOT_PI = math.sqrt(math.pi)  # the square root of pi
_IN_FLOAT32, _ANY_PRECISION = Precision(FLOAT32), Precision(EITHER, EITHER)  # mixed precision


def _cube_root(emit: Callable[..., Any], x: Any) -> Any:
    root = emit("Pow", emit("Abs", x), 1 / 3)
    return emit("Mul", emit("Sign", x), root)


def _unary_example(name: str, output: str) -> str:
    """Return the example of a function whose gradient is computed from the input."""
    return f""">>> x = mx.nd.array([-1.2, 0.4, 1.7])
>>> x.attach_grad()
>>> with mx.autograd.record():
...     y = mx.nd.contrib.{name}_ste(x)
...
>>> y.backward()
>>> y
{output}
<NDArray 3 @cpu(0)>
>>> x.grad
[1. 1. 1.]
<NDArray 3 @cpu(0)>"""


# fmt: off
UNARY = (  # a row for each function of one array
    Unary("_copy", "The input itself: ``output = data``.", functor="identity",
        aliases=("identity",), gradient="one", derivative=Linear(), simple=True, takes_bool=True,
        zero_stays=True, method=False, in_sparse=False,
        example=">>> x = mx.nd.array([1, 2])\n>>> y = mx.nd.identity(x)\n>>> y[0] = 9\n>>> x\n"
                "[1. 2.]\n<NDArray 2 @cpu(0)>"),
    Unary("negative", "Negative of each element: ``output = -data``.", gradient="minus_one",
        derivative=Linear(), simple=True, zero_stays=True, method=False, onnx="Neg",
        example=("[1, -2, 0]", "[-1.  2. -0.]")),
    Unary("abs", "Absolute value of each element: ``output = |data|``.", gradient="sign",
        reads="x", derivative=Flat(), simple=True, zero_stays=True, amp=_ANY_PRECISION, onnx="Abs",
        example=("[-1.5, 0, 2]", "[1.5 0.  2. ]")),
    Unary("sign", "Sign of each element: -1, 0 or 1; of NaN it is 0.", simple=True,
        zero_stays=True, onnx="Sign", example=("[-1.5, 0, 2]", "[-1.  0.  1.]")),
    Unary("square", "Square of each element: ``output = data ** 2``.", gradient="two_x", reads="x",
        derivative=lambda F, x, y: 2 * x, simple=True, zero_stays=True,
        amp=Precision(FLOAT32, EITHER), onnx=lambda emit, x: emit("Mul", x, x),
        example=("[-3, 0, 2]", "[9. 0. 4.]")),
    Unary("relu", "Rectified linear: ``output = max(data, 0)``.", gradient="relu_grad_y",
        reads="y", derivative=Flat(), simple=True, zero_stays=True, amp=_ANY_PRECISION, onnx="Relu",
        drawn_as="activation",
        example=("[-1, 0, 2]", "[0. 0. 2.]")),
    Unary("logical_not", "1 where an element is 0, else 0; the input's dtype.", result=BOOL,
        takes_bool=True, method=False, example=("[0, 1, -2]", "[1. 0. 0.]")),
    Unary("zeros_like", "Zeros of the input's shape and dtype.", functor="zero", simple=True,
        takes_bool=True, zero_stays=True, example=("[[1, 2], [3, 4]]", "[[0. 0.]\n [0. 0.]]")),
    Unary("ones_like", "Ones of the input's shape and dtype.", functor="one", simple=True,
        takes_bool=True, sparse=NEEDS_DENSE, example=("[[1, 2], [3, 4]]", "[[1. 1.]\n [1. 1.]]")),
    Unary("exp", "Exponential of each element: ``output = e ** data``.", gradient="identity",
        reads="y", derivative=lambda F, x, y: y, result=FLOAT, amp=_IN_FLOAT32, onnx="Exp",
        in_sparse=True, example=("[0, 1, 2]", "[1.        2.7182817 7.389056 ]")),
    Unary("log", "Natural logarithm of each element.", gradient="reciprocal", reads="x",
        derivative=lambda F, x, y: F.reciprocal(x), result=FLOAT, amp=_IN_FLOAT32, onnx="Log",
        in_sparse=True, example=("[1, 2, 10]", "[0.        0.6931472 2.3025851]")),
    Unary("log2", "Logarithm to base 2 of each element.", gradient="log2_grad", reads="x",
        derivative=lambda F, x, y: F.reciprocal(x) / math.log(2), result=FLOAT, amp=_IN_FLOAT32,
        onnx=lambda emit, x: emit("Mul", emit("Log", x), 1 / math.log(2)),
        in_sparse=True, example=("[1, 2, 8]", "[0. 1. 3.]")),
    Unary("log10", "Logarithm to base 10 of each element.", gradient="log10_grad", reads="x",
        derivative=lambda F, x, y: F.reciprocal(x) / math.log(10), result=FLOAT, amp=_IN_FLOAT32,
        onnx=lambda emit, x: emit("Mul", emit("Log", x), 1 / math.log(10)),
        in_sparse=True, example=("[1, 10, 1000]", "[0. 1. 3.]")),
    Unary("log1p", "``log(1 + data)``, precise near 0.", gradient="log1p_grad", reads="x",
        derivative=lambda F, x, y: F.reciprocal(x + 1), result=FLOAT, zero_stays=True,
        amp=_IN_FLOAT32, onnx=lambda emit, x: emit("Log", emit("Add", x, 1)),
        example=("[0, 1, 1e-6]", "[0.000000e+00 6.931472e-01 9.999995e-07]")),
    Unary("expm1", "``e ** data - 1``, precise near 0.", gradient="expm1_grad_y", reads="y",
        derivative=lambda F, x, y: y + 1, result=FLOAT, zero_stays=True, amp=_IN_FLOAT32,
        onnx=lambda emit, x: emit("Sub", emit("Exp", x), 1),
        example=("[0, 1, 1e-6]", "[0.0000000e+00 1.7182817e+00 1.0000005e-06]")),
    Unary("sqrt", "Square root of each element.", gradient="sqrt_grad_y", reads="y",
        derivative=lambda F, x, y: 0.5 / y, result=FLOAT, zero_stays=True, amp=_ANY_PRECISION,
        onnx="Sqrt", example=("[1, 2, 9]", "[1.        1.4142135 3.       ]")),
    Unary("rsqrt", "Reciprocal square root of each element: ``1 / sqrt(data)``.",
        gradient="rsqrt_grad", reads="x", derivative=lambda F, x, y: -0.5 * F.rsqrt(x) / x,
        result=FLOAT, amp=_IN_FLOAT32, onnx=lambda emit, x: emit("Reciprocal", emit("Sqrt", x)),
        in_sparse=True, example=("[1, 4, 16]", "[1.   0.5  0.25]")),
    Unary("cbrt", "Cube root of each element.", gradient="cbrt_grad_y", reads="y",
        derivative=lambda F, x, y: F.reciprocal(F.square(y)) / 3, result=FLOAT,
        zero_stays=True, onnx=_cube_root,
        example=("[-8, 1, 27]", "[-2.  1.  3.]")),
    Unary("rcbrt", "Reciprocal cube root of each element: ``1 / cbrt(data)``.",
        gradient="rcbrt_grad", reads="x", derivative=lambda F, x, y: F.rcbrt(x) / x * (-1 / 3),
        result=FLOAT, amp=_IN_FLOAT32, onnx=lambda emit, x: emit("Reciprocal", _cube_root(emit, x)),
        example=("[-8, 1, 27]", "[-0.5         1.          0.33333334]")),
    Unary("reciprocal", "Reciprocal of each element: ``1 / data``.", gradient="reciprocal_grad",
        reads="x", derivative=lambda F, x, y: -F.square(F.reciprocal(x)), result=FLOAT,
        amp=_IN_FLOAT32, onnx="Reciprocal", example=("[1, -2, 4]", "[ 1.   -0.5   0.25]")),
    Unary("_contrib_round_ste",
        "Nearest integer of each element, whose gradient is that of the input: straight through.",
        functor="round", gradient="one", derivative=Flat(), zero_stays=True, method=False,
        example=_unary_example("round", "[-1.  0.  2.]")),
    Unary("_contrib_sign_ste",
        "Sign of each element, whose gradient is that of the input: straight through.",
        functor="sign", gradient="one", derivative=Flat(), simple=True, zero_stays=True,
        method=False, example=_unary_example("sign", "[-1.  1.  1.]")),
    Unary("round", "Nearest integer of each element, ties away from zero.", zero_stays=True,
        example=("[-2.5, -1.2, 0.5, 1.7]", "[-3. -1.  1.  2.]")),
    Unary("rint", "Nearest integer of each element, ties to the lower one.", zero_stays=True,
        example=("[-2.5, -1.2, 0.5, 1.7]", "[-3. -1.  0.  2.]")),
    Unary("ceil", "Least integer that is not below each element.", zero_stays=True, onnx="Ceil",
        example=("[-2.5, -1.2, 0.5, 1.7]", "[-2. -1.  1.  2.]")),
    Unary("floor", "Greatest integer that is not above each element.", zero_stays=True,
        onnx="Floor", example=("[-2.5, -1.2, 0.5, 1.7]", "[-3. -2.  0.  1.]")),
    Unary("trunc", "Each element without its fraction.", zero_stays=True,
        example=("[-2.5, -1.2, 0.5, 1.7]", "[-2. -1.  0.  1.]")),
    Unary("fix", "Nearest integer towards zero of each element.", functor="trunc", zero_stays=True,
        example=("[-2.5, -1.2, 0.5, 1.7]", "[-2. -1.  0.  1.]")),
    Unary("sin", "Sine of each element, in radians.", gradient="cos", reads="x",
        derivative=lambda F, x, y: F.cos(x), result=FLOAT, zero_stays=True, onnx="Sin",
        example=("[0, 1, 2]", "[0.         0.84147096 0.9092974 ]")),
    Unary("cos", "Cosine of each element, in radians.", gradient="cos_grad", reads="x",
        derivative=lambda F, x, y: -F.sin(x), result=FLOAT, onnx="Cos",
        in_sparse=True, example=("[0, 1, 2]", "[ 1.         0.5403023 -0.4161468]")),
    Unary("tan", "Tangent of each element, in radians.", gradient="tan_grad_y", reads="y",
        derivative=lambda F, x, y: F.square(y) + 1, result=FLOAT, zero_stays=True, amp=_IN_FLOAT32,
        onnx="Tan", example=("[0, 1, -1]", "[ 0.         1.5574079 -1.5574079]")),
    Unary("arcsin", "Inverse sine of each element, within [-pi/2, pi/2].", gradient="arcsin_grad",
        reads="x", derivative=lambda F, x, y: F.rsqrt(1 - F.square(x)), result=FLOAT,
        zero_stays=True, amp=_IN_FLOAT32, onnx="Asin",
        example=("[-1, 0, 0.5]", "[-1.5707964  0.         0.5235988]")),
    Unary("arccos", "Inverse cosine of each element, within [0, pi].", gradient="arccos_grad",
        reads="x", derivative=lambda F, x, y: -F.rsqrt(1 - F.square(x)), result=FLOAT,
        amp=_IN_FLOAT32, onnx="Acos", in_sparse=True,
        example=("[-1, 0, 0.5]", "[3.1415927 1.5707964 1.0471976]")),
    Unary("arctan", "Inverse tangent of each element, within (-pi/2, pi/2).",
        gradient="arctan_grad", reads="x",
        derivative=lambda F, x, y: F.reciprocal(F.square(x) + 1), result=FLOAT,
        zero_stays=True, onnx="Atan",
        example=("[-1, 0, 10]", "[-0.7853982  0.         1.4711277]")),
    Unary("sinh", "Hyperbolic sine of each element.", gradient="cosh", reads="x",
        derivative=lambda F, x, y: F.cosh(x), result=FLOAT, zero_stays=True, amp=_IN_FLOAT32,
        onnx="Sinh", example=("[-1, 0, 2]", "[-1.1752012  0.         3.6268604]")),
    Unary("cosh", "Hyperbolic cosine of each element.", gradient="sinh", reads="x",
        derivative=lambda F, x, y: F.sinh(x), result=FLOAT, amp=_IN_FLOAT32, onnx="Cosh",
        in_sparse=True, example=("[-1, 0, 2]", "[1.5430806 1.        3.7621958]")),
    Unary("tanh", "Hyperbolic tangent of each element.", gradient="tanh_grad_y", reads="y",
        derivative=lambda F, x, y: 1 - F.square(y), result=FLOAT, simple_gradient=True,
        zero_stays=True, amp=_ANY_PRECISION, onnx="Tanh",
        drawn_as="activation",
        example=("[-1, 0, 2]", "[-0.7615942  0.         0.9640276]")),
    Unary("arcsinh", "Inverse hyperbolic sine of each element.", gradient="arcsinh_grad",
        reads="x", derivative=lambda F, x, y: F.rsqrt(F.square(x) + 1), result=FLOAT,
        zero_stays=True, onnx="Asinh",
        example=("[-1, 0, 2]", "[-0.8813736  0.         1.4436355]")),
    Unary("arccosh", "Inverse hyperbolic cosine of each element.", gradient="arccosh_grad",
        reads="x", derivative=lambda F, x, y: F.rsqrt(F.square(x) - 1), result=FLOAT,
        onnx="Acosh", in_sparse=True, example=("[1, 2, 10]", "[0.       1.316958 2.993223]")),
    Unary("arctanh", "Inverse hyperbolic tangent of each element.", gradient="arctanh_grad",
        reads="x", derivative=lambda F, x, y: F.reciprocal(1 - F.square(x)), result=FLOAT,
        zero_stays=True, amp=_IN_FLOAT32, onnx="Atanh",
        example=("[-0.5, 0, 0.9]", "[-0.54930615  0.          1.4722193 ]")),
    Unary("sigmoid", "Logistic function: ``output = 1 / (1 + exp(-data))``.",
        gradient="sigmoid_grad_y", reads="y", derivative=lambda F, x, y: y * (1 - y),
        result=FLOAT, simple_gradient=True, onnx="Sigmoid",
        in_sparse=True, drawn_as="activation",
        example=("[-2, 0, 2]", "[0.11920292 0.5        0.880797  ]")),
    Unary("softsign", "``output = data / (1 + |data|)``, element by element.",
        gradient="softsign_grad", reads="x",
        derivative=lambda F, x, y: F.reciprocal(F.square(F.abs(x) + 1)), result=FLOAT,
        method=False, onnx="Softsign",
        drawn_as="activation",
        example=("[-2, 0, 2]", "[-0.6666667  0.         0.6666667]")),
    Unary("erf", "Gauss error function of each element.", gradient="erf_grad", reads="x",
        derivative=lambda F, x, y: F.exp(-F.square(x)) * (2 / _ROOT_PI), result=FLOAT,
        method=False, onnx="Erf",
        example=("[-1, 0, 0.5]", "[-0.84270084  0.          0.5204999 ]")),
    Unary("erfinv", "Inverse of the Gauss error function, for elements in (-1, 1).",
        gradient="erfinv_grad_y", reads="y",
        derivative=lambda F, x, y: F.exp(F.square(y)) * (_ROOT_PI / 2), result=FLOAT,
        amp=_IN_FLOAT32, method=False,
        example=("[-0.5, 0, 0.9]", "[-0.47693628  0.          1.1630871 ]")),
    Unary("gamma", "Gamma function of each element.", gradient="gamma_grad", reads="x",
        derivative=lambda F, x, y: F.gamma(x) * F._internal._polygamma(x), result=FLOAT,
        amp=_IN_FLOAT32, method=False, in_sparse=True,
        example=("[0.5, 1, 5]", "[ 1.7724538  1.        24.       ]")),
    Unary("gammaln", "Logarithm of the absolute gamma function of each element.",
        gradient="gammaln_grad", reads="x", derivative=lambda F, x, y: F._internal._polygamma(x),
        result=FLOAT, amp=_IN_FLOAT32, method=False,
        in_sparse=True, example=("[0.5, 1, 5]", "[0.5723649 0.        3.1780539]")),
    Unary("degrees", "Radians to degrees, element by element.", gradient="degrees_grad",
        derivative=Linear(), result=FLOAT, zero_stays=True,
        onnx=lambda emit, x: emit("Mul", x, 180 / math.pi),
        example=("[0, 1, 3.1415927]", "[  0.       57.29578 180.     ]")),
    Unary("radians", "Degrees to radians, element by element.", gradient="radians_grad",
        derivative=Linear(), result=FLOAT, zero_stays=True,
        onnx=lambda emit, x: emit("Mul", x, math.pi / 180),
        example=("[0, 90, 180]", "[0.        1.5707964 3.1415927]")),
)
# fmt: on
