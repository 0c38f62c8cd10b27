"""Cuts backward into parts, so that the first gradients are sent while others are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ir import Graph, Value

_MIN_GRADIENT_BYTES = 1 << 14  # minimum bytes of gradients per part
_gradient_parts = 1  # number of parts of later plans' backward


def set_gradient_parts(parts: int) -> None:
    """Set the number of parts into which later plans cut their backward."""
    global _gradient_parts
    _gradient_parts = parts


def backward_cut_indices(graph: Graph) -> frozenset[int]:
    """Return the indices of steps after which a Graph's backward is cut into parts."""
    if _gradient_parts == 1 or not graph.grads:
        return frozenset()
    total = sum(_value_bytes(value) for value in graph.grads.values())
    goal, made = max(total // _gradient_parts, _MIN_GRADIENT_BYTES), 0
    cuts: set[int] = set()
    wanted = set(graph.grads.values())
    for i, step in enumerate(graph.steps):
        if i >= graph.n_forward:
            made += sum(_value_bytes(value) for _, value in step.written() if value.root in wanted)
        if made >= goal:
            made = 0
            cuts.add(i)
    return frozenset(cuts)


def _value_bytes(value: Value) -> int:
    """Return the approximate bytes of a value, as only its share of the total matters."""
    size = 4
    for n in value.shape:
        size *= n
    return size
