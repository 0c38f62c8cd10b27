"""The rule by which an operator's gradient is written as operators: that of its class, else of the
tables of this folder."""

from ..second_order import Flat, Formula, Linear, Rewritten
from . import linear
from .formulas import FORMULAS
from .linalg import LINALG
from .recurrent import RECURRENT
from .rewritten import REWRITTEN

TABLES = {
    **{name: Flat() for name in linear.FLAT},
    **{name: Linear(partners, name in linear.AFFINE) for name, partners in linear.LINEAR.items()},
    **{name: Formula(function) for name, function in (FORMULAS | LINALG).items()},
    **{name: Rewritten(function) for name, function in (REWRITTEN | RECURRENT).items()},
}


def rule_of(prop):
    """Linear, Flat, Formula, Rewritten or Refused; None where nothing is said.

    >>> from cynet.operator import get_operator
    >>> rule_of(get_operator("relu").prop())
    Flat()
    >>> rule_of(get_operator("SVMOutput").prop())
    """
    if prop.second_order is not None:
        return prop.second_order
    name = prop.op_name
    if name in ("Pooling", "Pooling_v1") and prop.pool_type in ("avg", "sum"):
        return Linear()
    if name == "UpSampling" and prop.sample_type == "nearest":
        return Linear()
    if name == "Correlation" and prop.is_multiply:
        return Linear({0: (1,), 1: (0,)})
    return TABLES.get(name)
