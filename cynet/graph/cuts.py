"""The points where backward is cut, so that the first gradients need not wait for all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ir import Graph, Value

_MIN_GRADIENT_BYTES = 1 << 14  # bytes of gradients that a cut is worth
_parts = 1


def set_gradient_parts(parts: int) -> None:
    """Make plans from now on compute their gradients in about this many parts."""
    global _parts
    _parts = parts


def gradient_cuts(graph: Graph) -> frozenset[int]:
    """The step positions after which a Graph's backward is cut into parts."""
    if _parts == 1 or not graph.grads:
        return frozenset()
    total = sum(_value_bytes(value) for value in graph.grads.values())
    goal, made = max(total // _parts, _MIN_GRADIENT_BYTES), 0
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
    """The bytes of a value, approximately: only the share of the total matters."""
    size = 4
    for n in value.shape:
        size *= n
    return size
