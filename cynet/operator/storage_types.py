"""Sparse rules of operators: from the storage types of inputs to those of results.

A class says it in `OperatorProperty.sparse`. Operators that say nothing take dense copies and give
dense arrays.
"""

from collections.abc import Callable
from typing import NamedTuple

DENSE = "default"


def gives_dense(prop, stypes):
    """The rule of operators whose outputs are dense."""
    return DENSE


class Sparse(NamedTuple):
    """The rule of an operator for sparse arrays.

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


def makes_sparse(prop):
    """Return whether an operator gives a sparse array for dense ones."""
    rule = sparse_of(prop)
    return rule is not None and rule.makes is not None and rule.makes(prop)


def sparse_of(prop):
    """The rule of a property or its class, or None; a user's parameter may have the same name."""
    rule = prop.sparse
    return rule if isinstance(rule, Sparse) else None


def output_type(prop, stypes):
    """The storage type of the outputs for these of the inputs."""
    rule = sparse_of(prop)
    return DENSE if rule is None else rule.gives(prop, stypes)
