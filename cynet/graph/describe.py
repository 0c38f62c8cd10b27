"""A Graph in words: its steps, what they write, and the memory it takes."""

from ..operator.property import ResourceRequest
from .ir import FORWARD, TEMP


def describe(graph):
    """What ``Executor.debug_str`` gives for a Graph whose memory is planned."""
    lines = []
    for index, step in enumerate(graph.steps):
        lines.append(f"{index:4d} {step.direction:8s} {step.prop.op_name} {step.name} @{step.ctx}")
        for position, value in step.written():
            request = ("null", "write", "inplace", "add")[step.req[position]]
            place = "" if value.root.kind != TEMP else f" arena+{value.root.offset}"
            lines.append(f"       -> {value.name} {value.shape} {value.dtype} {request}{place}")
    lines.append(f"Total {graph.memory.kept >> 20} MB kept between runs")
    lines.append(f"Total {graph.memory.planned >> 20} MB allocated")
    lines.append(f"Total {graph.memory.unplanned >> 20} MB without in-place and sharing")
    lines.append(f"Total {sum(map(_temporary_spaces, graph.steps))} TempSpace resource requested")
    return "\n".join(lines)


def _temporary_spaces(step):
    """How many temporary spaces a step asks for."""
    shapes = [v.shape for v in (step.origin or step).in_data]
    forward = step.direction == FORWARD
    ask = step.prop.forward_resource if forward else step.prop.backward_resource
    return ask(shapes).count(ResourceRequest.temp_space)
