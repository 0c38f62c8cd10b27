"""Which of four ways there is to write an operator's gradient as operators."""

from .formulas import FORMULAS
from .linalg import LINALG
from .linear import AFFINE, FLAT, LINEAR
from .recurrent import RECURRENT
from .rewritten import REWRITTEN

# The operator is linear in its inputs, so that what goes back is its transpose, and the transpose
# of that the operator itself; or its gradient has a factor that is constant almost everywhere; or
# the gradient is given in terms of other operators; or the operator is, and so its gradient.
LINEARLY, FLATLY, BY_FORMULA, BY_REWRITING = "linear", "flat", "formula", "rewritten"


def way_of(prop):
    """(one of the four, what there is for the property), or None where there is no way.

    >>> from cynet.operator import get_operator
    >>> way_of(get_operator("relu").prop())[0], way_of(get_operator("SVMOutput").prop())
    ('flat', None)
    """
    name = prop.op_name
    if prop.rewritten is not None:
        return BY_REWRITING, _rewritten
    if name in ("Pooling", "Pooling_v1") and prop.pool_type in ("avg", "sum"):
        return LINEARLY, {}
    if name == "UpSampling" and prop.sample_type == "nearest":
        return LINEARLY, {}
    if name == "Correlation" and prop.is_multiply:
        return LINEARLY, {0: (1,), 1: (0,)}
    for way, table in (
        (LINEARLY, LINEAR),
        (BY_FORMULA, FORMULAS),
        (BY_FORMULA, LINALG),
        (BY_REWRITING, REWRITTEN),
        (BY_REWRITING, RECURRENT),
    ):
        if name in table:
            return way, table[name]
    return (FLATLY, None) if name in FLAT else None


def _rewritten(prop, F, inputs, aux, training):
    return prop.rewritten(F, inputs, aux, training)


def is_affine(prop):
    """Whether a linear operator adds a constant."""
    return prop.op_name in AFFINE
