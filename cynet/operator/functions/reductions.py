"""The table of reductions over axes: one row for each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from ..precision import FLOAT32, Precision
from ..second_order import Array, Linear, Operators
from ..sparse.reductions import SUM
from .examples import example_lines
from .row import FLOAT, WIDE, Reduction

if TYPE_CHECKING:
    from collections.abc import Callable

Spread: TypeAlias = "Callable[[Array], Array]"  # repeats an array along the reduced axes
_IN_FLOAT32 = Precision(FLOAT32)  # mixed precision keeps float32


def _extremum_gradient(F: Operators, spread: Spread, g: Array, x: Array, y: Array) -> Array:
    return spread(g) * (x == spread(y).detach())


def _prod_gradient(F: Operators, spread: Spread, g: Array, x: Array, y: Array) -> Array:
    return spread(g * y) / x


def _nansum_gradient(F: Operators, spread: Spread, g: Array, x: Array, y: Array) -> Array:
    return spread(g) * (x == x)


def _nanprod_gradient(F: Operators, spread: Spread, g: Array, x: Array, y: Array) -> Array:
    there = x == x
    return spread(g * y) / F.where(there, x, F.ones_like(x)) * there


def _nan_example(name: str, first: int, output: str) -> str:
    code = f'x = mx.nd.array([[{first}, float("nan")], [3, 4]])\n>>> mx.nd.{name}(x, axis=1)'
    return example_lines(code, output)


# fmt: off
REDUCTIONS = (  # a row for each reduction over axes
    Reduction("sum", "Sum of elements over axes.", "sum", "grad_right", reads=False, of_nothing=0.0,
        aliases=("sum_axis",), derivative=Linear(), result=WIDE, amp=_IN_FLOAT32,
        onnx="ReduceSum", sparse=SUM,
        example=("[21.]", "[ 9. 12.]")),
    Reduction("mean", "Arithmetic mean over axes.", "sum", "grad_right", reads=False, mean=True,
        of_nothing=math.nan, derivative=Linear(), result=FLOAT, amp=_IN_FLOAT32, onnx="ReduceMean",
        sparse=SUM, example=("[3.5]", "[3. 4.]")),
    Reduction("prod", "Product over axes.", "prod", "prod_grad", of_nothing=1.0,
        derivative=_prod_gradient,
        result=WIDE, amp=_IN_FLOAT32, onnx="ReduceProd", example=("[720.]", "[15. 48.]")),
    Reduction("nansum", "Sum over axes; NaN counts as 0.", "nansum", "nansum_grad", of_nothing=0.0,
        derivative=_nansum_gradient, result=WIDE, amp=_IN_FLOAT32, example=_nan_example("nansum", 1,
        "[1. 7.]")),
    Reduction("nanprod", "Product over axes; NaN counts as 1.", "nanprod", "nanprod_grad",
        of_nothing=1.0, derivative=_nanprod_gradient, result=WIDE, amp=_IN_FLOAT32,
        example=_nan_example("nanprod", 2, "[ 2. 12.]")),
    Reduction("max", "Largest element over axes; NaN if one is.", "max", "equal",
        aliases=("max_axis",), derivative=_extremum_gradient, onnx="ReduceMax",
        example=("[6.]", "[5. 6.]")),
    Reduction("min", "Smallest element over axes; NaN if one is.", "min", "equal",
        aliases=("min_axis",), derivative=_extremum_gradient, onnx="ReduceMin",
        example=("[1.]", "[1. 2.]")),
)
# fmt: on
