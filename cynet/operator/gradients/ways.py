"""Which of four ways there is to write an operator's gradient as operators."""

from . import linear
from .formulas import FORMULAS
from .linalg import LINALG
from .recurrent import RECURRENT
from .rewritten import REWRITTEN

# The operator is linear in its inputs, so that what goes back is its transpose, and the transpose
# of that the operator itself; or its gradient has a factor that is constant almost everywhere; or
# the gradient is given in terms of other operators; or the operator is, and so its gradient.
LINEAR, PIECEWISE_LINEAR, BY_FORMULA, DECOMPOSED = "linear", "flat", "formula", "rewritten"


def second_order_rule(prop):
    """(one of the four, what there is for the property), or None where there is no way.

    >>> from cynet.operator import get_operator
    >>> second_order_rule(get_operator("relu").prop())[0]
    'flat'
    >>> second_order_rule(get_operator("SVMOutput").prop())
    """
    name = prop.op_name
    if prop.rewritten is not None:
        return DECOMPOSED, _rewritten
    if name in ("Pooling", "Pooling_v1") and prop.pool_type in ("avg", "sum"):
        return LINEAR, {}
    if name == "UpSampling" and prop.sample_type == "nearest":
        return LINEAR, {}
    if name == "Correlation" and prop.is_multiply:
        return LINEAR, {0: (1,), 1: (0,)}
    for way, table in (
        (LINEAR, linear.LINEAR),
        (BY_FORMULA, FORMULAS),
        (BY_FORMULA, LINALG),
        (DECOMPOSED, REWRITTEN),
        (DECOMPOSED, RECURRENT),
    ):
        if name in table:
            return way, table[name]
    return (PIECEWISE_LINEAR, None) if name in linear.FLAT else None


def _rewritten(prop, F, inputs, aux, training):
    return prop.rewritten(F, inputs, aux, training)


def is_affine(prop):
    """Whether a linear operator adds a constant."""
    return prop.op_name in linear.AFFINE
