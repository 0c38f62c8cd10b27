"""Replaces nodes that are composed functions of mx.np by their operators."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from ..operator._base import OpEntry, Operator, get_operator
from ..operator.checks.shapes import known_shape, plain_shape
from ..operator.numpy.named import load_tracer
from ..operator.parameters import Int
from ..operator.property import OperatorProperty
from ..symbol.node import Node, topological_order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..context import Context
    from ..symbol.node import Entry
    from ..typing import NDArray, Shape

_array_ids = count()  # numbers in names of constants


class ConstantArray(OperatorProperty):  # operator that outputs a constant
    """An operator that gives a constant array of an mx.np function, such as a mask."""

    number = Int(0)  # a unique id, so that no two nodes are equal
    differentiable = False
    op_name = "_held"
    array: np.ndarray[Any, Any]

    def list_arguments(self) -> list[str]:
        return []

    def infer_shape(self, in_shapes: list[Any], out_shapes: list[Any]) -> tuple[Sequence[Any], ...]:
        return [], [known_shape(self.array.shape)], []

    def infer_type(self, in_types: list[Any], out_types: list[Any]) -> tuple[Sequence[Any], ...]:
        return [], [self.array.dtype.name], []

    def create_operator(
        self, ctx: Context, in_shapes: list[Shape], in_types: list[str]
    ) -> Operator:
        return _CopyConstant(self.array)


class _CopyConstant(Operator):  # copies the constant to its output
    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def forward(
        self,
        ctx: Any,
        in_data: list[Any],
        req: list[int],
        out_data: list[Any],
        aux_states: list[Any],
    ) -> None:
        np.asarray(out_data[0])[...] = self.array


_CONSTANT_ARRAY = OpEntry("_held", ConstantArray)  # operator that outputs a constant


def _constant_node(name: str, array: NDArray) -> Node:
    prop = ConstantArray(number=next(_array_ids))
    prop.array = array.asnumpy()
    return Node(_CONSTANT_ARRAY, name, {}, {}, prop)


def decompose_graph(
    heads: list[Entry], shapes: Mapping[Entry, Any], dtypes: Mapping[Entry, str]
) -> list[Entry]:
    """Replace nodes that are composed functions by the operators that compute them.

    Parameters
    ----------
    heads : list of (Node, int)
    shapes, dtypes : dict of (Node, int) to tuple, str
        For every entry.

    Returns
    -------
    list of (Node, int)
        The new heads.
    """
    new: dict[Entry, Entry] = {}
    for node in topological_order(heads):
        outputs = [(node, i) for i in range(node.num_outputs)]
        inputs = [new[entry] for entry in node.inputs]
        if node.op is None or (inputs == node.inputs and not node.prop.decomposed):
            new.update((each, each) for each in outputs)
        elif node.prop.decomposed:
            given = [plain_shape(shapes[e]) for e in node.inputs], [dtypes[e] for e in node.inputs]
            made = _inline_written_graph(node, inputs, load_tracer()(node.prop, *given, node.name))
            new.update(zip(outputs, (_cast(e, t, dtypes[o]) for (e, t), o in zip(made, outputs))))
        else:
            again = Node(node.op, node.name, node.attrs, node.params, node.prop, inputs)
            new.update((each, (again, each[1])) for each in outputs)
    return [new[each] for each in heads]


def _inline_written_graph(node: Node, inputs: list[Entry], written: Any) -> list[tuple[Entry, str]]:
    """Connect a function's graph to the node's inputs; returns (entry, dtype) of its outputs."""
    entry_of_input = {id(each): entry for each, entry in zip(written.inputs, inputs)}
    held = {}

    def outer_entry(entry: Entry) -> Entry:
        inner = entry[0]
        if inner.op is not None:
            return entry
        if id(inner) not in entry_of_input and inner.name not in held:
            held[inner.name] = _constant_node(inner.name, written.constants[inner.name]), 0
        found = entry_of_input.get(id(inner)) or next(
            (e for each, e in zip(written.inputs, inputs) if each.name == inner.name), None
        )
        return found or held[inner.name]

    for inner in topological_order(written.entries):
        if inner.op is not None:
            inner.inputs = [outer_entry(each) for each in inner.inputs]
            inner.attrs.update(node.attrs)
    last = {id(each) for each, _ in written.entries if each.op is not None}
    if len(last) == 1 and len(written.entries) == 1:
        written.entries[0][0].name = node.name
    return [(outer_entry(entry), kind) for entry, kind in zip(written.entries, written.types)]


def _cast(entry: Entry, kind: str, wanted: str) -> Entry:
    """Cast an entry to the inferred dtype if it has another one."""
    if kind == wanted:
        return entry
    cast = get_operator("Cast")
    prop = cast.prop(dtype=wanted)
    return Node(cast, f"{entry[0].name}_cast", {}, {"dtype": wanted}, prop, [entry]), 0
