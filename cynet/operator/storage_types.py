"""Sparse rules of operators: from the storage types of inputs to the storage types of results.

A class says it in `OperatorProperty.sparse`. Operators that say nothing take dense copies and give
dense arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ._base import OpEntry
    from .registered import Registered

DENSE = "default"  # storage type of dense arrays


def dense_stype(prop: Registered, stypes: Sequence[str]) -> str:
    """Return the storage type of dense outputs: the rule of most operators."""
    return DENSE


class SparseRule(NamedTuple):  # how an operator computes with sparse arrays
    """The rule of an operator for sparse arrays.

    gives (callable): ``gives(prop, stypes)``: the storage type of the outputs for those of the
    inputs; dense if the form does not support the shapes, dtypes or parameters.
    form (callable or None): ``form(S, entry, prop, inputs, params)``: the output, from inputs of
        which some are sparse, or None where they do not fit; `S` is ``cynet.ndarray.sparse``.
    node (callable or None): ``node(S, entry, prop, params, inputs)``: the step of the graph of
        gradients. None: the gradient is that of the dense operator on dense copies.
    gradient_rows (callable or None): ``gradient_rows(S, prop, inputs, grad, i)``: the gradient of
        input `i` of dense arrays by rows, or None where there is no better way than through the
        dense one.
    makes (callable or None): ``makes(prop)``: whether it gives a sparse array for dense ones.
    needs_dense (bool): True: where some input is dense, so is the result, and no form could save
        memory.
    """

    gives: Callable[[Any, Sequence[str]], str] = dense_stype
    form: Callable[..., Any] | None = None
    node: Callable[..., Any] | None = None
    gradient_rows: Callable[..., Any] | None = None
    makes: Callable[[Any], bool] | None = None
    needs_dense: bool = False


def elementwise_rule(keeps_zero: Callable[[Any], bool] | None = None) -> SparseRule:
    """The rule of an elementwise operator of one input: sparse where ``f(0) = 0``.

    keeps_zero: ``keeps_zero(prop)``: whether ``f(0) = 0``; always if None.
    """

    def result_stype(prop: Registered, stypes: Sequence[str]) -> str:
        return stypes[0] if keeps_zero is None or keeps_zero(prop) else DENSE

    def compute_output(S: Any, entry: OpEntry, prop: Registered, inputs: Any, params: Any) -> Any:
        if keeps_zero is None or keeps_zero(prop):
            return S.convert.apply_to_values(entry, inputs[0], params)
        return None

    return SparseRule(result_stype, compute_output)


def creates_sparse(prop: Registered | type[Registered]) -> bool:
    """Return whether an operator gives a sparse array for dense arrays."""
    rule = sparse_rule_of(prop)
    return rule is not None and rule.makes is not None and rule.makes(prop)


def sparse_rule_of(prop: Registered | type[Registered]) -> SparseRule | None:
    """Return a property's rule, or None, also if `sparse` is a parameter of a user's operator."""
    rule = prop.sparse
    return rule if isinstance(rule, SparseRule) else None


def output_stype(prop: Registered, stypes: Sequence[str]) -> str:
    """Return the storage type of an operator's outputs for those of its inputs."""
    rule = sparse_rule_of(prop)
    return DENSE if rule is None else rule.gives(prop, stypes)
