"""Decomposes calls of mx.np functions, in graphs from files, into operators by tracing."""

from typing import NamedTuple

from ...base.dtype import name_of
from ...base.errors import ArgumentError, shown
from ...name import Prefix
from ...ndarray import NDArray
from ...symbol import Symbol, var
from ..tracing import tracing
from .traced import Trace
from .traced_numpy import TracedNumpy


class DecomposedCall(NamedTuple):  # the operators that one mx.np call consists of
    """The operators of an mx.np call: outputs with shapes and dtypes, input variables,
    constants."""

    entries: list
    shapes: list
    types: list
    inputs: list
    constants: dict


def decompose_call(prop, shapes, types, name="of"):
    """Trace a call of the operator `prop` with inputs of these shapes and dtypes."""
    names = [f"{name}_in{i}" for i in range(len(shapes))]
    trace = Trace(dict(zip(names, shapes)), dict(zip(names, types)), (), None, TracedNumpy)
    inputs = [var(each) for each in names]
    with tracing(trace), Prefix(f"{name}_"):
        made = prop.call([TracedNumpy(each.entries) for each in inputs])
        made = [trace.constant(each) if isinstance(each, NDArray) else each for each in made]
        for each in made:
            if not isinstance(each, Symbol):
                raise ArgumentError(
                    f"operator {prop.op_name} in a graph: outputs are arrays, got {shown(each)}"
                )
        found_shapes = [trace.shape(each) for each in made]
        found_types = [name_of(trace.dtype(each)) for each in made]
    entries = [each.entries[0] for each in made]
    nodes = [each.entries[0][0] for each in inputs]
    return DecomposedCall(entries, found_shapes, found_types, nodes, trace.constants)
