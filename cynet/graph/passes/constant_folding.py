"""Constant folding: values that depend on no argument are computed once, at bind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import CONST, OUTPUT, depends_on_inputs_only
from ..memory_plan import nbytes

if TYPE_CHECKING:
    from ..ir import Graph, Step, Value


MAX_BYTES = 1 << 20  # maximum of a constant; a larger one is cheaper to compute than to store


def fold_constants(graph: Graph) -> Graph:
    """Move steps that depend on no argument to ``graph.constant_steps``.

    graph: Forward steps only.

    Returns Graph: the same graph. What the moved steps make is of kind ``const``. Not moved are
    operators with random numbers, states or Python, outputs of the graph, and what makes more than
    `MAX_BYTES` bytes for the others to read.
    """
    made: set[Value] = set()
    constant: dict[Step, None] = {}
    for step in graph.steps:
        if (
            depends_on_inputs_only(step)
            and all(value in made for value in step.in_data)
            and not any(value.kind == OUTPUT for value in step.out_data)
        ):
            constant[step] = None
            made.update(step.out_data)
    _drop_large_constants(graph.steps, constant)
    graph.constant_steps = list(constant)
    for step in graph.constant_steps:
        for value in step.out_data:
            value.kind = CONST
    graph.set_forward_steps(step for step in graph.steps if step not in constant)
    return graph


def _drop_large_constants(steps: list[Step], constant: dict[Step, None]) -> None:
    """Remove steps with large outputs from `constant` if other steps read them."""
    read: set[Value] = set()  # values that the remaining steps read
    for step in reversed(steps):  # a removed step may read outputs of others
        if step in constant and any(v in read and nbytes(v) > MAX_BYTES for v in step.out_data):
            del constant[step]
        if step not in constant:
            read.update(step.in_data)
