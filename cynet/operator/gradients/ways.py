"""The rule by which an operator's gradient is written as operators: that of its class, else of the
tables of this folder."""

from ..second_order import Flat, Formula, Linear
from . import linear
from .formulas import FORMULAS

TABLES = {
    **{name: Flat() for name in linear.FLAT},
    **{name: Linear(partners) for name, partners in linear.LINEAR.items()},
    **{name: Formula(function) for name, function in FORMULAS.items()},
}


def rule_of(prop):
    """Linear, Flat, Formula, Rewritten or Refused; None where nothing is said.

    >>> from cynet.operator import get_operator
    >>> rule_of(get_operator("relu").prop())
    Flat()
    """
    return TABLES.get(prop.op_name) if prop.second_order is None else prop.second_order
