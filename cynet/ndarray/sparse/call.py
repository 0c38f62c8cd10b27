"""Calls with a sparse array: a sparse implementation, or the dense operator and a warning."""

import math
from typing import Any

import numpy as np

from ..._core.sparse_kind import dense_of
from ...base import config
from ...base.dtype import name_of
from ...base.errors import ArgumentError, ArgumentTypeError, warn_user
from ...operator.checks.index_dtype import check_index_dtype
from ...operator.storage_types import sparse_rule_of
from .. import _resolve, sparse
from .._call import invoke
from .._tape import get_state, set_state, wants_gradient
from . import arrays
from .gradients import DenseGradientNode
from .updates import lazy_update

PLAIN_TYPES = (int, float, bool, str, type(None))  # types of parameters of cached calls
MAX_CHECKED_CALLS = 256  # maximum of calls whose checks are cached

_warned_calls = set()  # (operator, storage types) that a warning has named
_checked_calls = {}  # key of a checked call -> (property, parameters)


def _ordered_inputs(entry, given, names, prop):
    """The inputs in the operator's order."""
    if not names:
        return given
    wanted = prop.list_arguments()
    by_name = dict(zip(names, given))
    if len(by_name) < len(names) or not {*by_name} <= {*wanted}:
        raise ArgumentTypeError(
            f"operator {entry.name} takes the inputs {', '.join(wanted)}; got {', '.join(names)}"
        )
    return [by_name[name] for name in wanted if name in by_name]


def _is_sparse(array):
    return isinstance(array, arrays.BaseSparseNDArray)


def sparse_call(entry: Any, given: list[Any], names: Any, params: dict[str, Any], out: Any) -> Any:
    """``_call.invoke`` for calls in which an input or an output is sparse."""
    for array in given:
        if _is_sparse(array):
            array.as_canonical()
    updated = lazy_update(entry, given, names, params, out)
    if updated is not None:
        return updated
    rule = sparse_rule_of(entry.prop)
    makes = rule is not None and rule.makes is not None
    if makes or any(_is_sparse(array) for array in given):
        result = _call_sparse_form(entry, given, names, params)
        if result is None:
            result = _call_on_dense_copies(entry, given, names, params)
    else:
        result = (
            invoke(entry, tuple(given), params)
            if not names
            else _invoke_with_keywords(entry, given, names, params)
        )
    return result if out is None else _store_in_out(entry, result, out)


def _call_cache_key(entry, given, names, params):
    """The key of a checked call; None where making a key takes longer than the check."""
    if entry.prop.users:
        return None
    for value in params.values():
        for each in value if type(value) is tuple else (value,):
            if type(each) not in PLAIN_TYPES:
                return None
    kinds = [(array.stype, array.shape, array.dtype) for array in given]
    return entry, repr(params), tuple(names), tuple(kinds)  # 1, 1.0 and True differ


def _checked_property(entry, given, names, params):
    """The property of a call and its parameters; raises where the inputs do not fit."""
    count = entry.prop.key_var_num_args
    if count is not None and count in entry.prop.fields and count not in params:
        params = {**params, count: len(given)}
    prop = entry.prop(**entry.prop.accepted_params(params))
    inputs = _ordered_inputs(entry, given, names, prop)
    if len(inputs) == len(prop.list_arguments()):
        shapes, types = [x.shape for x in inputs], [name_of(x.dtype) for x in inputs]
        _resolve.infer_outputs(prop, prop.list_arguments(), shapes, types)
        check_index_dtype(prop, prop.arrays_read_by_index(shapes, types))
    return prop, params


def _call_sparse_form(entry, given, names, params):  # None: without a sparse form
    rule = sparse_rule_of(entry.prop)
    if rule is None or rule.form is None:
        return None
    key = _call_cache_key(entry, given, names, params)
    prop, params = _checked_calls.get(key, (None, params))
    if prop is None:
        prop, params = _checked_property(entry, given, names, params)
        if key is not None and len(_checked_calls) < MAX_CHECKED_CALLS:
            _checked_calls[key] = prop, params
    inputs = _ordered_inputs(entry, given, names, prop)
    if len(inputs) != len(prop.list_arguments()):
        return None  # the dense operator reports the missing input
    recorded = wants_gradient(inputs)
    flags = set_state(get_state() & ~1)
    try:
        result = rule.form(sparse, entry, prop, inputs, params)
    finally:
        set_state(flags)
    if any(_shares_values(result, each) for each in inputs):  # the result may be an input
        result = result.detach().copy()
    if recorded and result is not None:
        if rule.node is None:
            node = DenseGradientNode(entry, params, inputs)
        else:
            node = rule.node(sparse, entry, prop, params, inputs)
        node.record(inputs, [result])
    return result


def _shares_values(result, array):
    """Return whether a result uses the values of an input."""
    values = getattr(result, "_values_array", result)
    return values is not None and values is getattr(array, "_values_array", array)


def _invoke_with_keywords(entry, given, names, params):
    """Run the operator of `entry`; the last arrays of `given` have these names."""
    inputs = given[: len(given) - len(names)]
    return invoke(entry, tuple(inputs), {**params, **dict(zip(names, given[len(inputs) :]))})


def _call_on_dense_copies(entry, given, names, params):
    """Run the dense operator on dense copies of the inputs."""
    stypes = tuple(array.stype for array in given)
    rule = sparse_rule_of(entry.prop)
    if rule is None or not rule.needs_dense:
        cells = sum(math.prod(array.shape) for array in given if _is_sparse(array))
        nbytes = sum(
            array.size * np.dtype(array.dtype).itemsize for array in given if _is_sparse(array)
        )
        text = (
            f"operator {entry.name} has no form for storage types {', '.join(stypes)}: it computes "
            f"with dense copies, {cells} elements, {nbytes / 2**20:.1f} MiB"
        )
        if config.get("CYNET_STORAGE_FALLBACK") == "error":
            raise ArgumentError(f"{text}; CYNET_STORAGE_FALLBACK=error refuses that")
        if (entry.name, stypes) not in _warned_calls:
            _warned_calls.add((entry.name, stypes))
            warn_user(f"{text}. CYNET_STORAGE_FALLBACK=error refuses such calls")
    dense = [dense_of(array) for array in given]
    return _invoke_with_keywords(entry, dense, names, params)


def _store_in_out(entry, result, out):
    """Copy the result to the arrays in `out`."""
    results = result if isinstance(result, list) else [result]
    outs = out if isinstance(out, (list, tuple)) else [out]
    if len(outs) != len(results):
        raise ArgumentError(
            f"operator {entry.name} has {len(results)} outputs, out has {len(outs)}"
        )
    for source, target in zip(results, outs):
        if not _is_sparse(target):
            source.copyto(target)
        elif _is_sparse(source) and source.stype != target.stype:
            raise ArgumentError(
                f"operator {entry.name} gives {source.stype}, and out is {target.stype}"
            )
        else:
            target._assign_array(source)
    return out


_resolve.set_sparse_call(sparse_call)
