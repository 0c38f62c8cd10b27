"""Arithmetic and comparison of symbols: Python's operators to operators and automatic names."""

from numbers import Number

from ..base.errors import ArgumentTypeError, NotImplementedForSymbol
from ..operator._base import get_operator
from ..operator.array_methods import BINARY
from ..operator.signature import describe_value
from .compose import apply_operator


class Arithmetic:  # Python operators of Symbol
    """The Python operators of Symbol."""

    __slots__ = ()
    __array_ufunc__ = None  # a NumPy scalar on the left leaves the work to the symbol

    def _apply(self, operator, name_hint, inputs, **params):
        """Apply an operator to symbols of a single output."""
        entries = []
        for symbol in inputs:
            if len(symbol.entries) != 1:
                raise ArgumentTypeError(
                    f"operator {operator}: {symbol!r} has {len(symbol.entries)} outputs, but a "
                    f"single one is required; choose one by indexing"
                )
            entries.append(symbol.entries[0])
        node = apply_operator(get_operator(operator), name_hint, entries, params)
        return type(self)([(node, 0)])

    def __neg__(self):
        row = BINARY["multiply"]
        return self._apply(row.scalar, row.scalar_hint, [self], scalar=-1.0)

    def __abs__(self):
        return self._apply("abs", "abs", [self])

    def __bool__(self):
        raise NotImplementedForSymbol(
            f"{self!r} has no truth value: its data exist only when an executor runs"
        )


def _raise_operand_error(name, symbol, other):
    raise ArgumentTypeError(
        f"{symbol!r}.{name}: the other operand must be a Symbol or a number, got "
        f"{describe_value(other)}"
    )


def _binary_method(name, operator, name_hint, scalar_operator, scalar_hint):
    def method(self, other):
        if isinstance(other, Arithmetic):
            return self._apply(operator, name_hint, [self, other])
        if isinstance(other, Number):
            return self._apply(scalar_operator, scalar_hint, [self], scalar=other)
        return _raise_operand_error(name, self, other)

    method.__name__ = name
    method.__doc__ = f"Operator {operator}, or {scalar_operator} with a number."
    return method


def _reflected_method(name, scalar_operator, scalar_hint):
    def method(self, other):
        if isinstance(other, Number):
            return self._apply(scalar_operator, scalar_hint, [self], scalar=other)
        return _raise_operand_error(name, self, other)

    method.__name__ = name
    method.__doc__ = f"Operator {scalar_operator}."
    return method


for _row in BINARY.values():
    if _row.method:
        _name = f"__{_row.method}__"
        _method = _binary_method(_name, _row.same, _row.name_hint, _row.scalar, _row.scalar_hint)
        setattr(Arithmetic, _name, _method)
    if _row.method and not _row.is_comparison:  # Python itself reflects comparisons
        _name = f"__r{_row.method}__"
        # MXNet's name with an underscore
        _hint = _row.reflected if _row.sign == "**" else _row.reflected_hint
        setattr(Arithmetic, _name, _reflected_method(_name, _row.reflected, _hint))
