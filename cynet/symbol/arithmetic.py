"""Arithmetic and comparison of symbols: Python's operators to operators and automatic names."""

from numbers import Number

from ..base.errors import ArgumentTypeError
from ..operator._base import get_operator
from ..operator.signature import found_text
from .compose import apply_operator

# Python's name, operator of two symbols, its hint, operator of symbol and scalar, its hint
_BINARY = (
    ("__add__", "elemwise_add", "_plus", "_plus_scalar", "_plusscalar"),
    ("__sub__", "elemwise_sub", "_minus", "_minus_scalar", "_minusscalar"),
    ("__mul__", "elemwise_mul", "_mul", "_mul_scalar", "_mulscalar"),
    ("__truediv__", "elemwise_div", "_div", "_div_scalar", "_divscalar"),
    ("__mod__", "_mod", "_mod", "_mod_scalar", "_modscalar"),
    ("__pow__", "_power", "_power", "_power_scalar", "_powerscalar"),
    ("__eq__", "_equal", "_equal", "_equal_scalar", "_equal_scalar"),
    ("__ne__", "_not_equal", "_not_equal", "_not_equal_scalar", "_not_equal_scalar"),
    ("__gt__", "_greater", "_greater", "_greater_scalar", "_greater_scalar"),
    (
        "__ge__",
        "_greater_equal",
        "_greater_equal",
        "_greater_equal_scalar",
        "_greater_equal_scalar",
    ),
    ("__lt__", "_lesser", "_lesser", "_lesser_scalar", "_lesser_scalar"),
    ("__le__", "_lesser_equal", "_lesser_equal", "_lesser_equal_scalar", "_lesser_equal_scalar"),
)
# Python's name, operator of scalar and symbol, its hint
_REFLECTED = (
    ("__radd__", "_plus_scalar", "_plusscalar"),
    ("__rsub__", "_rminus_scalar", "_rminusscalar"),
    ("__rmul__", "_mul_scalar", "_mulscalar"),
    ("__rtruediv__", "_rdiv_scalar", "_rdivscalar"),
    ("__rmod__", "_rmod_scalar", "_rmodscalar"),
    ("__rpow__", "_rpower_scalar", "_rpower_scalar"),
)


class Arithmetic:
    """The Python operators of Symbol."""

    __slots__ = ()
    __array_ufunc__ = None  # a NumPy scalar on the left leaves the work to the symbol

    def _apply(self, operator, hint, inputs, **params):
        """One operator on symbols of a single output."""
        entries = []
        for symbol in inputs:
            if len(symbol.entries) != 1:
                raise ArgumentTypeError(
                    f"operator {operator}: {symbol!r} has {len(symbol.entries)} outputs, but a "
                    f"single one is required; choose one by indexing"
                )
            entries.append(symbol.entries[0])
        node = apply_operator(get_operator(operator), hint, entries, params)
        return type(self)([(node, 0)])

    def __neg__(self):
        return self._apply("_mul_scalar", "_mulscalar", [self], scalar=-1.0)

    def __abs__(self):
        return self._apply("abs", "abs", [self])

    def __bool__(self):
        raise ArgumentTypeError(
            f"{self!r} has no truth value: its data exist only when an executor runs"
        )


def _refuse(name, symbol, other):
    raise ArgumentTypeError(
        f"{symbol!r}.{name}: the other operand must be a Symbol or a number, got "
        f"{found_text(other)}"
    )


def _binary(name, operator, hint, scalar_operator, scalar_hint):
    def method(self, other):
        if isinstance(other, Arithmetic):
            return self._apply(operator, hint, [self, other])
        if isinstance(other, Number):
            return self._apply(scalar_operator, scalar_hint, [self], scalar=other)
        return _refuse(name, self, other)

    method.__name__ = name
    method.__doc__ = f"Operator {operator}, or {scalar_operator} with a number."
    return method


def _reflected(name, scalar_operator, scalar_hint):
    def method(self, other):
        if isinstance(other, Number):
            return self._apply(scalar_operator, scalar_hint, [self], scalar=other)
        return _refuse(name, self, other)

    method.__name__ = name
    method.__doc__ = f"Operator {scalar_operator}."
    return method


for _row in _BINARY:
    setattr(Arithmetic, _row[0], _binary(*_row))
for _row in _REFLECTED:
    setattr(Arithmetic, _row[0], _reflected(*_row))
