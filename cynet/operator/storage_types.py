"""What operators do with sparse arrays, and the storage types that they give for those of their
inputs.

A class says it in `OperatorProperty.sparse`. Operators that say nothing take dense copies and give
dense arrays.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

DENSE = "default"


def gives_dense(prop, stypes):
    """The rule of operators whose outputs are dense."""
    return DENSE


class Sparse(NamedTuple):
    """What an operator does with sparse arrays.

    Attributes
    ----------
    gives : callable
        ``gives(prop, stypes)``: the storage type of the outputs for these of the inputs. Where
        shapes or dtypes do not fit the form, or parameters ask for what it has not, they are dense.
    form : callable or None
        ``form(S, entry, prop, inputs, params)``: the output, from inputs of which some are sparse,
        or None where they do not fit; `S` is ``cynet.ndarray.sparse``.
    node : callable or None
        ``node(S, entry, prop, params, inputs)``: the step of the graph of gradients. None: the
        gradient is that of the dense operator on dense copies.
    gradient_rows : callable or None
        ``gradient_rows(S, prop, inputs, grad, i)``: the gradient of input `i` of dense arrays by
        rows, or None where there is no better way than through the dense one.
    makes : callable or None
        ``makes(prop)``: whether it gives a sparse array for dense ones.
    needs_dense : bool
        True: where some input is dense, so is the result, and no form could save memory.
    """

    gives: Callable = gives_dense
    form: Callable | None = None
    node: Callable | None = None
    gradient_rows: Callable | None = None
    makes: Callable | None = None
    needs_dense: bool = False


def on_values(stays=None):
    """The rule of an operator that computes each element from one: sparse where ``f(0) = 0``.

    Parameters
    ----------
    stays : callable, optional
        ``stays(prop)``: whether that is so; always when not given.

    Returns
    -------
    Sparse
    """

    def gives(prop, stypes):
        return stypes[0] if stays is None or stays(prop) else DENSE

    def form(S, entry, prop, inputs, params):
        if stays is None or stays(prop):
            return S.convert.on_values(entry, inputs[0], params)
        return None

    return Sparse(gives, form)


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
    if prop.op_name == "broadcast_mul" and stypes[0] == DENSE:
        return DENSE
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
    return "csr" if {*stypes} == {"csr"} and getattr(prop, "dim", 0) in (0, -2) else DENSE


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
    rule = sparse_of(prop)
    if rule is not None:
        return rule.makes is not None and rule.makes(prop)
    return prop.op_name == "cast_storage" and prop.stype != DENSE


def sparse_of(prop):
    """The rule of a property or its class, or None; a user's parameter may have that name."""
    rule = prop.sparse
    return rule if isinstance(rule, Sparse) else None


def output_type(prop, stypes):
    """The storage type of the outputs for these of the inputs."""
    rule = sparse_of(prop)
    if rule is not None:
        return rule.gives(prop, stypes)
    rule = RULES.get(prop.op_name)
    return DENSE if rule is None else rule(prop, stypes)
