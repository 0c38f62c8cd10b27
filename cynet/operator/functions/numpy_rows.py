"""NumPy's elementwise functions with the names of their operators: mx.nd's rows and others.

``_npi_add(lhs, rhs)``, ``_npi_add_scalar(data, scalar)``, ``_npi_exp(data)``: MXNet's names.
"""

from __future__ import annotations

import numpy

from ..second_order import Array, Flat, Operators
from .binary import BINARY
from .reductions import REDUCTIONS
from .row import BOOL, FLOAT, SAME, Gradient, Unary
from .unary import UNARY

BITS = "bits"  # a result of integers and bools alone

# mx.nd's name of a function -> NumPy's name, if that is different.
NUMPY_NAMES = {  # mx.nd's name of a function -> NumPy's
    "divide": "true_divide",
    "modulo": "mod",
    "lesser": "less",
    "lesser_equal": "less_equal",
    "abs": "absolute",
}
# mx.nd's remainder by 0 is 0
_FUNCTORS = {"mod": "remainder"}  # mx.nd's functor -> NumPy's, where they differ
_ZERO_GRAD = Gradient("grad_one", "grad_one", False, False)  # both gradients are 0


def _logaddexp(F: Operators, a: Array, b: Array) -> Array:
    return F.log(F.broadcast_add(F.exp(a), F.exp(b)))


# NumPy's binary functions that mx.nd lacks: name, functor, gradient, kind of result, and the second
# derivative: a rule, or the function in terms of mx.nd's operators.
_NUMPY_ONLY_ROWS = (  # binary functions that mx.nd lacks
    *((f"bitwise_{n}", f"bitwise_{n}", _ZERO_GRAD, BITS, None) for n in ("and", "or", "xor")),
    *((f"bitwise_{n}", n, _ZERO_GRAD, BITS, None) for n in ("left_shift", "right_shift")),
    *((n, n, _ZERO_GRAD, BITS, None) for n in ("gcd", "lcm")),
    ("floor_divide", "floor_divide", _ZERO_GRAD, SAME, None),
    ("fmod", "fmod", Gradient("grad_one", "fmod_rgrad"), SAME, Flat()),
    ("fmax", "fmax", Gradient("fmax_lgrad", "fmax_rgrad"), SAME, Flat()),
    ("fmin", "fmin", Gradient("fmin_lgrad", "fmin_rgrad"), SAME, Flat()),
    (
        "arctan2",
        "arctan2",
        Gradient("arctan2_lgrad", "arctan2_rgrad"),
        FLOAT,
        lambda F, a, b: F.arctan(F.broadcast_div(a, b)),
    ),
    ("copysign", "copysign", Gradient("copysign_lgrad", None), FLOAT, Flat()),
    ("nextafter", "nextafter", _ZERO_GRAD, FLOAT, None),
    (
        "ldexp",
        "ldexp",
        Gradient("ldexp_lgrad", "ldexp_rgrad"),
        FLOAT,
        lambda F, a, b: F.broadcast_mul(a, 2.0**b),
    ),
    ("logaddexp", "logaddexp", Gradient("logaddexp_lgrad", "logaddexp_rgrad"), FLOAT, _logaddexp),
)

# [(name, functor, gradient, kind of result, rule or function, row of mx.nd)]
BINARIES = tuple(  # name, functor, gradient, result, rule, row of each
    (
        NUMPY_NAMES.get(row.function, row.function),
        _FUNCTORS.get(row.functor, row.functor),
        row.gradient,
        row.result,
        None,
        row,
    )
    for row in BINARY
    if row.broadcast is not None
) + tuple((*row, None) for row in _NUMPY_ONLY_ROWS)
# name -> (operator's name, row of mx.nd) of unary functions
UNARIES: dict[str, tuple[str, Unary | None]] = {}  # name -> (operator, row)
NPX_UNARIES: dict[str, tuple[str, Unary | None]] = {}  # name -> (operator, row)
for _row in UNARY:
    _name = NUMPY_NAMES.get(_row.name, _row.name)
    if _name.startswith("_") or _name.endswith("_like"):
        continue
    _extends = not hasattr(numpy, _name)
    # if the result has the input's dtype, the operator of mx.nd serves
    _operator = _row.name if _row.result == SAME else f"_np{'x' if _extends else 'i'}_{_name}"
    (NPX_UNARIES if _extends else UNARIES)[_name] = _operator, _row
# NumPy's unary functions that mx.nd lacks: name and kind of result.
NUMPY_ONLY_UNARIES = (  # functions that mx.nd lacks
    ("isnan", BOOL),
    ("isinf", BOOL),
    ("isfinite", BOOL),
    ("signbit", BOOL),
    ("bitwise_not", BITS),
)
UNARIES |= {name: (f"_npi_{name}", None) for name, _ in NUMPY_ONLY_UNARIES}

# Functions of an array and a number whose operands may be swapped.
_COMMUTATIVE_OPERATORS = (  # operands may change places
    "add",
    "multiply",
    "maximum",
    "minimum",
    "hypot",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "gcd",
    "lcm",
    "fmax",
    "fmin",
    "logaddexp",
    "equal",
    "not_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
)
_SWAPPED_COMPARISONS = {"greater": "less", "greater_equal": "less_equal"}  # exchanged operands
_SWAPPED_COMPARISONS |= {b: a for a, b in _SWAPPED_COMPARISONS.items()}


def operators_of(name: str) -> tuple[str, str, str, str]:
    """Return the operators of a binary function: for arrays of one shape, for arrays, for an array
    and a number, for a number and an array.

    >>> operators_of("subtract")[2:], operators_of("greater")[3]
    (('_npi_subtract_scalar', '_npi_rsubtract_scalar'), '_npi_less_scalar')
    """
    array, scalar = f"_npi_{name}", f"_npi_{name}_scalar"
    if name in _COMMUTATIVE_OPERATORS or name in _SWAPPED_COMPARISONS:
        return array, array, scalar, f"_npi_{_SWAPPED_COMPARISONS.get(name, name)}_scalar"
    return array, array, scalar, f"_npi_r{name}_scalar"


def operator_names() -> tuple[str, ...]:
    """Return the names of all operators with NumPy's semantics."""
    found = {name for row in BINARIES for name in operators_of(row[0])}
    for operator, row in (*UNARIES.values(), *NPX_UNARIES.values()):
        if row is None or operator != row.name:
            found.add(operator)
    for each in REDUCTIONS:
        if not each.name.startswith("nan") and each.name != "norm":
            found.add(f"_np{'i' * each.mean}_{each.name}")
    found |= {f"_np_{name}" for name in ("any", "all", "reshape")}
    return (*found, *(f"_npi_arg{name}" for name in ("max", "min")))
