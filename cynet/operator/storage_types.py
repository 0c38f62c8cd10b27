"""The storage types that operators give for those of their inputs.

Operators that are not in `RULES` take dense copies and give dense arrays. A rule is a function of
the property and the types of the inputs. ``tests/ndarray/sparse/test_walk.py`` holds the forms of
``ndarray/sparse/forms.py`` to it. Where shapes or dtypes do not fit a form, or parameters ask for
what it has not, the result is dense.
"""

import math

DENSE = "default"
ZERO_STAYS = (  # f(0) = 0
    *("abs", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "degrees", "expm1", "fix"),
    *("floor", "log1p", "negative", "radians", "relu", "rint", "round", "sign", "sin", "sinh"),
    *("sqrt", "square", "tan", "tanh", "trunc", "BlockGrad", "make_loss", "Cast"),
    *("_contrib_round_ste", "_contrib_sign_ste", "zeros_like", "_copy"),
)
SCALARS = {  # what f(0, number) is
    "_plus_scalar": lambda s: s,
    "_minus_scalar": lambda s: -s,
    "_mul_scalar": lambda s: 0 * s,
    "_div_scalar": lambda s: 0 / s if s else math.nan,
    "_equal_scalar": lambda s: s == 0,
    "_not_equal_scalar": lambda s: s != 0,
    "_greater_scalar": lambda s: s < 0,
    "_greater_equal_scalar": lambda s: s <= 0,
    "_lesser_scalar": lambda s: s > 0,
    "_lesser_equal_scalar": lambda s: s >= 0,
}


def _first(prop, stypes):
    return stypes[0]


def _scalar(prop, stypes):
    return stypes[0] if SCALARS[prop.op_name](float(prop.scalar)) == 0 else DENSE


def _clip(prop, stypes):
    return stypes[0] if prop.a_min <= 0 <= prop.a_max else DENSE


def _alike(prop, stypes):
    return stypes[0] if len({*stypes}) == 1 else DENSE


def _product(prop, stypes):
    sparse = {*stypes} - {DENSE}
    return sparse.pop() if len(sparse) == 1 else DENSE


def _quotient(prop, stypes):
    return "csr" if tuple(stypes) == ("csr", DENSE) else DENSE


def _dot(prop, stypes):
    lhs, rhs = stypes
    asked, transposed = prop.forward_stype, prop.transpose_a
    if prop.transpose_b:
        return DENSE
    if lhs == "csr":
        gives = "row_sparse" if transposed else DENSE
        if rhs == DENSE:
            return gives if asked is None else asked if asked != "csr" else DENSE
        return gives if rhs == "row_sparse" and asked in (None, gives) else DENSE
    if (lhs, rhs) == (DENSE, "csr") and not transposed and asked in (None, "csr"):
        return "csr"
    return DENSE


def _csr_rows(prop, stypes):
    return "csr" if {*stypes} == {"csr"} and not getattr(prop, "dim", 0) % 2 else DENSE


def _take(prop, stypes):
    fits = tuple(stypes) == ("csr", DENSE) and prop.axis == 0 and prop.mode != "raise"
    return "csr" if fits else DENSE


def _cast_storage(prop, stypes):
    return prop.stype


def _retain(prop, stypes):
    return stypes[0] if tuple(stypes) == ("row_sparse", DENSE) else DENSE


RULES = {
    **dict.fromkeys(ZERO_STAYS, _first),
    **dict.fromkeys(SCALARS, _scalar),
    **dict.fromkeys(("elemwise_add", "elemwise_sub", "add_n"), _alike),
    **dict.fromkeys(("broadcast_add", "broadcast_sub"), _alike),
    **dict.fromkeys(("elemwise_mul", "broadcast_mul"), _product),
    "broadcast_div": _quotient,
    "clip": _clip,
    "dot": _dot,
    "slice": _csr_rows,
    "Concat": _csr_rows,
    "take": _take,
    "cast_storage": _cast_storage,
    "_sparse_retain": _retain,
}


def makes_sparse(prop):
    """Whether an operator gives a sparse array for dense ones."""
    return prop.op_name == "cast_storage" and prop.stype != DENSE


def output_type(prop, stypes):
    """The storage type of the outputs for these of the inputs."""
    rule = RULES.get(prop.op_name)
    return DENSE if rule is None else rule(prop, stypes)
