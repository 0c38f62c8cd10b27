"""mx.nd.add, maximum, equal, ...: functions of two operands, each an array or a number."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentTypeError, SizeError, shown, wrap_error
from ._arithmetic import Slot
from .functions import binary_of_symbols

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import BinaryFunction, Operand

_NUMBERS = (int, float, np.generic)
_MAX_BITS = 1_000_000  # of an int that a power of two ints may be


def _binary(
    name: str,
    arrays: tuple[str, str],
    scalar: str,
    reflected: str,
    numbers: Callable[..., Any],
    doc: str,
) -> BinaryFunction:
    """A function that dispatches on which operands are arrays to one of four operators: for arrays
    of one shape, for arrays, for an array and a number, for a number and an array."""
    call = Slot(name, *arrays, scalar, reflected).call

    def function(lhs, rhs):
        out = call(lhs, rhs)
        if out is None:
            out = binary_of_symbols((*arrays, scalar, reflected), lhs, rhs)
        if out is not None:
            return out
        if isinstance(lhs, _NUMBERS) and isinstance(rhs, _NUMBERS):
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
    Arrays broadcast against each other.

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
>>> import cynet as mx
>>> mx.nd.{name}(mx.nd.array([1, 2, 3]), 2).asnumpy().tolist()
{[float(numbers(each, 2)) for each in (1, 2, 3)]}
"""
    return function


def _truth(function):
    return lambda a, b: float(function(a, b))


add = _binary(
    "add",
    ("elemwise_add", "broadcast_add"),
    "_plus_scalar",
    "_plus_scalar",
    operator.add,
    "lhs + rhs.",
)
subtract = _binary(
    "subtract",
    ("elemwise_sub", "broadcast_sub"),
    "_minus_scalar",
    "_rminus_scalar",
    operator.sub,
    "lhs - rhs.",
)
multiply = _binary(
    "multiply",
    ("elemwise_mul", "broadcast_mul"),
    "_mul_scalar",
    "_mul_scalar",
    operator.mul,
    "lhs * rhs.",
)
divide = _binary(
    "divide",
    ("elemwise_div", "broadcast_div"),
    "_div_scalar",
    "_rdiv_scalar",
    operator.truediv,
    "lhs / rhs.",
)
true_divide = divide
modulo = _binary(
    "modulo",
    ("_mod", "broadcast_mod"),
    "_mod_scalar",
    "_rmod_scalar",
    operator.mod,
    "lhs % rhs, of the divisor's sign.",
)


def _power_of_numbers(base, exp):
    """base ** exp, unless it is an int of so many digits that Python computes for hours."""
    if isinstance(base, int) and isinstance(exp, int) and base.bit_length() * exp > _MAX_BITS:
        raise SizeError(f"the result would have more than {_MAX_BITS} bits")
    return base**exp


_power = _binary(
    "power",
    ("_power", "broadcast_power"),
    "_power_scalar",
    "_rpower_scalar",
    _power_of_numbers,
    "lhs ** rhs.",
)


def power(base: Operand, exp: Operand) -> Any:
    """base ** exp.

    Parameters
    ----------
    base, exp : NDArray or number
        Arrays broadcast against each other.

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


maximum = _binary(
    "maximum",
    ("_maximum", "broadcast_maximum"),
    "_maximum_scalar",
    "_maximum_scalar",
    max,
    "The larger of each pair.",
)
minimum = _binary(
    "minimum",
    ("_minimum", "broadcast_minimum"),
    "_minimum_scalar",
    "_minimum_scalar",
    min,
    "The smaller of each pair.",
)
equal = _binary(
    "equal",
    ("_equal", "broadcast_equal"),
    "_equal_scalar",
    "_equal_scalar",
    _truth(operator.eq),
    "1 where lhs == rhs, else 0.",
)
not_equal = _binary(
    "not_equal",
    ("_not_equal", "broadcast_not_equal"),
    "_not_equal_scalar",
    "_not_equal_scalar",
    _truth(operator.ne),
    "1 where lhs != rhs, else 0.",
)
greater = _binary(
    "greater",
    ("_greater", "broadcast_greater"),
    "_greater_scalar",
    "_lesser_scalar",
    _truth(operator.gt),
    "1 where lhs > rhs, else 0.",
)
greater_equal = _binary(
    "greater_equal",
    ("_greater_equal", "broadcast_greater_equal"),
    "_greater_equal_scalar",
    "_lesser_equal_scalar",
    _truth(operator.ge),
    "1 where lhs >= rhs, else 0.",
)
lesser = _binary(
    "lesser",
    ("_lesser", "broadcast_lesser"),
    "_lesser_scalar",
    "_greater_scalar",
    _truth(operator.lt),
    "1 where lhs < rhs, else 0.",
)
lesser_equal = _binary(
    "lesser_equal",
    ("_lesser_equal", "broadcast_lesser_equal"),
    "_lesser_equal_scalar",
    "_greater_equal_scalar",
    _truth(operator.le),
    "1 where lhs <= rhs, else 0.",
)
logical_and = _binary(
    "logical_and",
    ("_logical_and", "broadcast_logical_and"),
    "_logical_and_scalar",
    "_logical_and_scalar",
    lambda a, b: float(bool(a) and bool(b)),
    "1 where both are not 0, else 0.",
)
logical_or = _binary(
    "logical_or",
    ("_logical_or", "broadcast_logical_or"),
    "_logical_or_scalar",
    "_logical_or_scalar",
    lambda a, b: float(bool(a) or bool(b)),
    "1 where one is not 0, else 0.",
)
logical_xor = _binary(
    "logical_xor",
    ("_logical_xor", "broadcast_logical_xor"),
    "_logical_xor_scalar",
    "_logical_xor_scalar",
    lambda a, b: float(bool(a) != bool(b)),
    "1 where exactly one is not 0, else 0.",
)
