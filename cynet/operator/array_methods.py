"""Methods common to arrays, symbols and traced arrays: operators that are methods, and those behind
Python's operators and the binary functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ._base import OPERATORS
from .functions import BINARY as FUNCTIONS
from .functions import UNARY
from .functions.row import BOOL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .functions.row import Binary as Function


class BinaryOperators(NamedTuple):  # the four operators of a function of two operands
    """The four operators of a function of two operands, and its operator sign in Python."""

    sign: str  # sign of Python's operator; '' without one
    method: str  # method of Python's data model; '' without one
    same: str  # operator for two arrays of one shape
    broadcast: str  # operator for two arrays that broadcast
    scalar: str  # operator for an array and a number
    reflected: str  # operator for a number and an array

    @property
    def is_comparison(self) -> bool:
        """True if the method is a comparison, such as ``==``."""
        return self.sign != "" and self.sign[0] in "=!<>"

    @property
    def operators(self) -> tuple[str, ...]:
        """The names of the four operators of the method."""
        return self[2:]

    @property
    def name_hint(self) -> str:
        """The beginning of MXNet's automatic names of symbols of two symbols."""
        return self.scalar.removesuffix("_scalar")

    @property
    def scalar_hint(self) -> str:
        """The beginning of MXNet's automatic names of symbols of a symbol and a number."""
        return self._name_hint_of(self.scalar)

    @property
    def reflected_hint(self) -> str:
        """The beginning of MXNet's automatic names of symbols of a number and a symbol."""
        return self._name_hint_of(self.reflected)

    def _name_hint_of(self, operator: str) -> str:
        return operator if self.is_comparison else operator.replace("_scalar", "scalar")


def _operators_of_row(row: Function) -> BinaryOperators:
    same, broadcast, scalar = (row.forms()[kind].name for kind in ("same", "broadcast", "scalar"))
    reflected = row.reflected or scalar  # None: the function is commutative
    name = reflected if isinstance(reflected, str) else reflected.name
    return BinaryOperators(row.sign, row.method, same, broadcast, scalar, name)


def declared_names(attribute: str) -> dict[str, str]:
    """Return {name: operator} for the names that property classes declare in `attribute`."""
    return {
        name: entry.name
        for _, entry in OPERATORS.loaded_items()
        for name in entry.prop.__dict__.get(attribute, ())
    }


def _bool_operator_names() -> Iterator[str]:
    yield from (row.name for row in UNARY if row.result == BOOL)
    for row in FUNCTIONS:
        if row.result == BOOL:
            yield from (form.name for form in row.forms().values())


# Operators that are methods of every array and symbol, which is their first input.
METHODS = tuple(sorted(declared_names("methods")))  # operators that are methods of arrays
# Name of a function of ``mx.nd`` -> its operators.
BINARY = {row.function: _operators_of_row(row) for row in FUNCTIONS if row.function}  # by function
COMPARISONS = frozenset(_bool_operator_names())  # operators whose results are truth values, 0 or 1
