"""Declarations of elementwise operators: which loops run over their arrays."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .functions import BINARY, UNARY
from .functions.row import BOOL
from .parameters import LargeInt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .functions.row import Gradient


class Loop(NamedTuple):  # one pass of a functor over arrays
    """One loop over all elements of its arrays.

    family : str
        The table of kernels: ``unary`` F(a), ``binary`` F(a, b), ``unary_grad`` a * F(b),
        ``binary_grad`` a * F(b, c). Those of BYTE_LOOPS convert integers of 8 bits to floats or
        back; after the array stand the scale and the integer that stands for 0.
    functor : str
        F, a name in kernels/elementwise/functors.h; of BYTE_LOOPS the integers' dtype.
    reads : tuple
        What is read: arrays as `GraphHooks.forward_loops` got them, or floats.
    target : object
        The array that is written as its request says.
    more : bool
        True: adds to what an earlier loop of the same step wrote.
    """

    family: str
    functor: str
    reads: tuple[Any, ...]
    target: Any
    more: bool = False


# Loop family -> index of its 8-bit operand among source, step, zero point and target.
BYTE_LOOPS = {"floats_of_bytes": 0, "bytes_of_floats": 3}  # family -> index of its 8-bit operand


def _cheap_functors() -> Iterator[str | None]:
    for row in UNARY:
        if row.simple:
            yield row.functor or row.name
        if row.simple or row.simple_gradient:
            yield row.gradient
    for each in BINARY:
        if each.simple:
            yield from (each.functor, each.gradient.lhs, each.gradient.rhs)


# Functors that take about as long as an addition; the others take some times as long.
CHEAP_FUNCTORS = frozenset(_cheap_functors()) - {None}  # about as fast as an addition
_BOOL_ROWS = [row for row in BINARY if row.result == BOOL]  # functions whose results are bools
_COMPARISON_FUNCTIONS = {
    row.functor: getattr(operator, row.method) for row in _BOOL_ROWS if row.method
}
_LOGICAL_FUNCTORS = {row.functor for row in _BOOL_ROWS if not row.method}  # logical and, or, xor
_INTEGER_RANGES = {"bool": (0, 1)} | {  # least and largest value of a dtype
    name: (np.iinfo(name).min, np.iinfo(name).max) for name in ("uint8", "int8", "int32", "int64")
}


_INTEGER_DTYPES = frozenset(_INTEGER_RANGES)


def fits_dtype(number: float, dtype: str) -> bool:
    """Return whether a number is between the least and the largest integer of `dtype`; True for
    floating dtypes.

    >>> fits_dtype(300.0, "uint8"), fits_dtype(1.5, "uint8"), fits_dtype(1e300, "float32")
    (False, True, True)
    """
    if dtype not in _INTEGER_DTYPES:
        return True
    low, high = _INTEGER_RANGES[dtype]
    exact: float = getattr(number, "exact", number)
    return low <= exact <= high


def can_represent(dtype: str, number: float) -> bool:
    """Return whether a number is one of the integers of `dtype`; True for floating dtypes.

    >>> can_represent("uint8", 300.0), can_represent("uint8", 2.0), can_represent("float32", 1e300)
    (False, True, True)
    """
    if dtype not in _INTEGER_DTYPES:
        return True
    return fits_dtype(number, dtype) and float(number).is_integer()


def loop_dtype(loop: Loop, dtype: str) -> str:
    """Return the dtype in which a loop over arrays of `dtype` and a number computes.

    It is `dtype` where that holds the number; else int64 for a whole number, and float64.

    >>> loop_dtype(Loop("binary", "div", ("a", 300.0), "y"), "uint8")
    'int64'
    >>> loop_dtype(Loop("binary", "mul", ("a", 0.5), "y"), "int32")
    'float64'
    """
    for each in loop.reads:
        if isinstance(each, float) and not can_represent(dtype, each):
            return "int64" if can_represent("int64", each) else "float64"
    return dtype


def _replace_out_of_range(loop: Loop, number: float, dtype: str) -> Loop:
    """Replace the number of a comparison by one in `dtype`'s range, or the loop by a constant."""
    operands = loop.reads[-2:]
    if not fits_dtype(number, dtype) or loop.functor in ("equal", "not_equal"):
        # the number is out of range, so every integer compares to it as 0 does
        answer = _COMPARISON_FUNCTIONS[loop.functor](*(v if v is number else 0 for v in operands))
        array = next(v for v in operands if v is not number)
        known = (loop.reads[0], array) if loop.family == "binary_grad" else (array,)
        family = loop.family.replace("binary", "unary")
        return loop._replace(family=family, functor="one" if answer else "zero", reads=known)
    # x > 0.5 is x > 0, x >= 0.5 is x >= 1; 0.5 < x is 0 < x, 0.5 <= x is 1 <= x
    below = loop.functor in ("greater", "lesser_equal")
    if operands[0] is number:
        below = not below
    nearest = float(np.floor(number) if below else np.ceil(number))
    return loop._replace(reads=tuple(nearest if v is number else v for v in loop.reads))


def fold_out_of_range_scalar(loop: Loop, dtype: str) -> Loop:
    """Return an equivalent loop for arrays of `dtype`, whose integers lack the loop's scalar.

    A comparison has another number or one answer for all, and the larger or smaller one is chosen
    within the dtype.

    >>> fold_out_of_range_scalar(Loop("binary", "lesser", ("a", 300.0), "y"), "uint8")
    Loop(family='unary', functor='one', reads=('a',), target='y', more=False)
    >>> fold_out_of_range_scalar(Loop("binary", "lesser", ("a", 0.5), "y"), "uint8").reads
    ('a', 1.0)
    """
    if dtype not in _INTEGER_DTYPES or loop.family not in ("binary", "binary_grad"):
        return loop
    numbers = [v for v in loop.reads if isinstance(v, float) and not can_represent(dtype, v)]
    if len(numbers) != 1:
        return loop
    number = numbers[0]
    if loop.functor in _COMPARISON_FUNCTIONS:
        return _replace_out_of_range(loop, number, dtype)
    if loop.functor in _LOGICAL_FUNCTORS:  # the number as a truth value
        return loop._replace(reads=tuple(1.0 if v is number else v for v in loop.reads))
    if loop.functor in ("maximum", "minimum") and number == number:
        low, high = _INTEGER_RANGES[dtype]
        nearest = LargeInt(int(min(max(number, low), high)))
        return loop._replace(reads=tuple(nearest if v is number else v for v in loop.reads))
    return loop


def binary_gradient_loops(
    gradient: Gradient, out_grad: Any, lhs: Any, rhs: Any, targets: Sequence[Any]
) -> list[Loop]:
    """The loops of a binary function's gradients.

    gradient: Of the function's row.
    out_grad, lhs, rhs: Arrays, or a float for one operand.
    targets: Gradient of lhs and of rhs; None where there is none.
    """
    # a gradient that reads no input gets out_grad in the inputs' stead
    operands = tuple(
        each if gradient.reads or isinstance(each, float) else out_grad for each in (lhs, rhs)
    )
    return [
        Loop("binary_grad", functor, (out_grad, *operands), target)
        for functor, target in zip((gradient.lhs, gradient.rhs), targets)
        if target is not None and functor is not None  # None: of a number
    ]
