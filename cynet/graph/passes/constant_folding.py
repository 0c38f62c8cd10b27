"""Constant folding: values that depend on no argument are computed once, at bind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ir import CONST, OUTPUT, depends_on_inputs_only
from ..memory_plan import nbytes

if TYPE_CHECKING:
    from ..ir import Graph, Step, Value


LARGEST = 1 << 20  # bytes of a constant: a larger one is cheaper to compute again than to keep


def fold(graph: Graph) -> Graph:
    """Move the steps whose result is always the same from the plan to ``graph.constant_steps``.

    graph: Forward steps only.

    Returns Graph: the same graph. What the moved steps make is of kind ``const``. Not moved are
    operators with random numbers, states or Python, outputs of the graph, and what makes more than
    `LARGEST` bytes for the others to read.
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
    _drop_large(graph.steps, constant)
    graph.constant_steps = list(constant)
    for step in graph.constant_steps:
        for value in step.out_data:
            value.kind = CONST
    graph.set_forward(step for step in graph.steps if step not in constant)
    return graph


def _drop_large(steps: list[Step], constant: dict[Step, None]) -> None:
    """Remove steps with large values from `constant` if other steps read them."""
    read: set[Value] = set()  # values that the remaining steps read
    for step in reversed(steps):  # a step that stays may make its inputs' steps stay
        if step in constant and any(v in read and nbytes(v) > LARGEST for v in step.out_data):
            del constant[step]
        if step not in constant:
            read.update(step.in_data)
