"""mx.nd.add, maximum, equal, ...: functions of two operands, each an array or a number."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.errors import ArgumentTypeError, SizeError, shown, wrap_error
from ...operator.array_methods import BINARY
from ..functions import call_binary_on_symbols
from .slots import LegacySlot

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...typing import BinaryFunction, Operand

_NUMBER_TYPES = (int, float, np.generic)  # types of scalars
_MAX_POWER_BITS = 1_000_000  # maximum bits of a power of two ints


def _binary_function(name: str, numbers: Callable[..., Any], doc: str) -> BinaryFunction:
    """A function that dispatches on which operands are arrays to the operators of `name`."""
    row = BINARY[name]
    call = LegacySlot(name, *row.operators).apply_or_none

    def function(lhs, rhs):
        out = call(lhs, rhs)
        if out is None:
            out = call_binary_on_symbols(row, lhs, rhs)
        if out is not None:
            return out
        if isinstance(lhs, _NUMBER_TYPES) and isinstance(rhs, _NUMBER_TYPES):
            try:
                return numbers(lhs, rhs)
            except (ArithmeticError, TypeError, ValueError) as error:
                raise wrap_error(error, f"{name}({shown(lhs)}, {shown(rhs)}): {error}") from error
        raise ArgumentTypeError(
            f"{name} takes NDArrays and numbers, got {type(lhs).__name__} and {type(rhs).__name__}"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc}

Parameters
----------
lhs, rhs : NDArray or number
    The operands; arrays are broadcast against each other.

Returns
-------
NDArray
    Of the arrays' dtype; a number when both operands are numbers.

Raises
------
ArgumentTypeError
    An operand is neither an NDArray nor a number.
MXNetError
    Two arrays do not broadcast.

Examples
--------
>>> mx.nd.{name}(mx.nd.array([1, 2, 3]), 2).asnumpy().tolist()
{[float(numbers(each, 2)) for each in (1, 2, 3)]}
"""
    return function


def _with_float_result(function):
    return lambda a, b: float(function(a, b))


add = _binary_function("add", operator.add, "lhs + rhs.")
subtract = _binary_function("subtract", operator.sub, "lhs - rhs.")
multiply = _binary_function("multiply", operator.mul, "lhs * rhs.")
divide = _binary_function("divide", operator.truediv, "lhs / rhs.")
true_divide = divide
modulo = _binary_function("modulo", operator.mod, "lhs % rhs, of the divisor's sign.")


def _power_of_numbers(base, exp):
    """base ** exp of numbers, unless the int would have so many digits that it takes hours."""
    if isinstance(base, int) and isinstance(exp, int) and base.bit_length() * exp > _MAX_POWER_BITS:
        raise SizeError(f"the result would have more than {_MAX_POWER_BITS} bits")
    return base**exp


_power = _binary_function("power", _power_of_numbers, "lhs ** rhs.")


def power(base: Operand, exp: Operand) -> Any:
    """base ** exp.

    Parameters
    ----------
    base, exp : NDArray or number
        Arrays that are broadcast against each other, or numbers.

    Returns
    -------
    NDArray
        Of the arrays' dtype; a number when both operands are numbers.

    Examples
    --------
    >>> mx.nd.power(mx.nd.array([1, 2, 3]), 2).asnumpy()
    array([1., 4., 9.], dtype=float32)
    >>> mx.nd.power(mx.nd.array([[2], [3]]), mx.nd.array([1, 2])).asnumpy(), mx.nd.power(2, 5)
    (array([[2., 4.],
           [3., 9.]], dtype=float32), 32)
    """
    return _power(base, exp)


maximum = _binary_function("maximum", max, "The larger of each pair.")
minimum = _binary_function("minimum", min, "The smaller of each pair.")
equal = _binary_function("equal", _with_float_result(operator.eq), "1 where lhs == rhs, else 0.")
not_equal = _binary_function(
    "not_equal", _with_float_result(operator.ne), "1 where lhs != rhs, else 0."
)
greater = _binary_function("greater", _with_float_result(operator.gt), "1 where lhs > rhs, else 0.")
greater_equal = _binary_function(
    "greater_equal", _with_float_result(operator.ge), "1 where lhs >= rhs, else 0."
)
lesser = _binary_function("lesser", _with_float_result(operator.lt), "1 where lhs < rhs, else 0.")
lesser_equal = _binary_function(
    "lesser_equal", _with_float_result(operator.le), "1 where lhs <= rhs, else 0."
)
logical_and = _binary_function(
    "logical_and", lambda a, b: float(bool(a) and bool(b)), "1 where both are not 0, else 0."
)
logical_or = _binary_function(
    "logical_or", lambda a, b: float(bool(a) or bool(b)), "1 where one is not 0, else 0."
)
logical_xor = _binary_function(
    "logical_xor", lambda a, b: float(bool(a) != bool(b)), "1 where exactly one is not 0, else 0."
)
