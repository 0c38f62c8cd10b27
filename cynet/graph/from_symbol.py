"""Builds the forward steps of a Graph from a Symbol's nodes, inferred shapes and contexts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError
from ..operator import get_operator
from .ir import ARG, AUX, FORWARD, OUTPUT, TEMP, WRITE, Graph, Step, Value
from .subgraphs import subgraph_step

if TYPE_CHECKING:
    from ..context import Context


def build_graph(
    structure: Any,
    shapes: dict[Any, tuple[int, ...]],
    dtypes: dict[Any, str],
    contexts: dict[Any, Context],
) -> Graph:
    """Build the forward Graph of a Symbol.

    shapes, dtypes: For every entry.

    Returns Graph: with one step a node that is no variable. An output that is an argument, or that
    stands twice among the heads, gets a value of its own and a copying step, so that every output
    has memory of its own.
    """
    args: dict[str, Value] = {}
    auxs: dict[str, Value] = {}
    values: dict[Any, Value] = {}
    steps: list[Step] = []
    aux_nodes, props = _auxiliary_nodes(structure.order), structure.properties()
    wanted = set(structure.heads)
    for node in structure.order:
        if node.op is None:
            kind = AUX if node in aux_nodes else ARG
            value = Value(node.name, shapes[node, 0], dtypes[node, 0], contexts[node], kind)
            named = auxs if kind == AUX else args
            if node.name in named:
                raise ArgumentError(
                    f"two variables are named '{node.name}'; an executor finds its arrays by name, "
                    "so give them different names, or use one variable twice"
                )
            named[node.name] = value
            values[node, 0] = value
            continue
        n_args = node.num_args
        outs = []
        for index in range(node.num_outputs):
            kind = OUTPUT if (node, index) in wanted else TEMP
            value = Value(
                node.output_name(index),
                shapes[node, index],
                dtypes[node, index],
                contexts[node],
                kind,
            )
            values[node, index] = value
            outs.append(value)
        inputs = [values[entry] for entry in node.inputs]
        if getattr(node.prop, "subgraphs", ()):
            steps.append(subgraph_step(node, inputs, outs, contexts[node]))
            continue
        steps.append(
            Step(
                node.name,
                props[node],
                contexts[node],
                FORWARD,
                inputs[:n_args],
                outs,
                inputs[n_args:],
                [WRITE] * len(outs),
                attrs=node.attrs,
            )
        )
    outputs: dict[Value, None] = {}
    for entry in structure.heads:
        value = values[entry]
        if value.kind != OUTPUT or value in outputs:
            value = _copy_to_output(value, steps)
        outputs[value] = None
    return Graph(steps, args, auxs, list(outputs))


def _auxiliary_nodes(order: list[Any]) -> set[Any]:
    """Return the variables that operators use as auxiliary states."""
    found: set[Any] = set()
    for node in order:
        if node.op is not None:
            found.update(entry[0] for entry in node.inputs[node.num_args :])
    return found


def copying_step(source: Value, target: Value, req: int) -> Step:
    """Return a step that copies `source` to `target`, or adds it if `req` is ADD."""
    return Step(
        f"{source.name}_copy",
        get_operator("_copy").prop(),
        target.ctx,
        FORWARD,
        [source],
        [target],
        [],
        [req],
    )


def _copy_to_output(value: Value, steps: list[Step]) -> Value:
    out = Value(value.name, value.shape, value.dtype, value.ctx, OUTPUT)
    steps.append(copying_step(value, out, WRITE))
    return out
