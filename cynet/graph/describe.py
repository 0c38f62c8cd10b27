"""A Graph as text: its steps, their outputs, and the memory it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..operator.property import ResourceRequest
from .ir import FORWARD, SAVED, TEMP

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .ir import Graph, Step


def describe(graph: Graph) -> str:
    """Return the text of ``Executor.debug_str`` for a Graph whose memory is planned."""
    lines = _step_lines(graph, "")
    lines.append(f"Total {graph.memory.cached >> 20} MB kept between runs")
    lines.append(f"Total {graph.memory.planned >> 20} MB allocated")
    lines.append(f"Total {graph.memory.unplanned >> 20} MB without in-place and sharing")
    lines.append(f"Total {sum(map(_count_temp_spaces, graph.steps))} TempSpace resource requested")
    return "\n".join(lines)


def _step_lines(graph: Graph, margin: str) -> list[str]:
    """Return the lines of a graph's steps; an inner graph's steps follow the step that runs it."""
    lines = []
    for index, step in enumerate(graph.steps):
        name = f"{step.prop.op_name} {step.name} @{step.ctx}{algorithm_text(step)}"
        lines.append(f"{margin}{index:4d} {step.direction:8s} {name}")
        for position, value in step.written():
            request = ("null", "write", "inplace", "add")[step.req[position]]
            place = ""
            if value.root.kind in (TEMP, SAVED):
                place = f" {'arena' if value.root.kind == TEMP else 'saved'}+{value.root.offset}"
            lines.append(
                f"{margin}       -> {value.name} {value.shape} {value.dtype} {request}{place}"
            )
        if step.direction == FORWARD:
            for word, held in inner_graphs(step):
                lines.append(f"{margin}       {word}, {held.saved} bytes saved by each run:")
                lines += _step_lines(held, margin + "       ")
    return lines


def inner_graphs(step: Step) -> Iterable[tuple[str, Graph]]:
    """Return pairs (name, Graph) of the inner graphs of a step."""
    ask = getattr(step.prop, "graphs_inside", None)
    return ask() if ask else ()


def algorithm_text(step: Step) -> str:
    """Return ``": algorithm (estimates)"`` for an operator with several algorithms, else ""."""
    made = (step.origin or step).algorithms
    if step.direction == FORWARD:
        return f": {made['forward']}" if made else ""
    apart = [f"{what} by {choice}" for what, choice in made.items() if what != "forward"]
    if not apart and made:
        return f": {made['forward'].name}"
    return f": {', '.join(apart)}" if apart else ""


def _count_temp_spaces(step: Step) -> int:
    """Return the number of temporary spaces that a step requests."""
    shapes = [v.shape for v in (step.origin or step).in_data]
    forward = step.direction == FORWARD
    ask = step.prop.forward_resource if forward else step.prop.backward_resource
    found: int = ask(shapes).count(ResourceRequest.temp_space)
    return found
