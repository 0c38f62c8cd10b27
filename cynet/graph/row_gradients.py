"""Finds gradients that are filled row by row, so that their nonzero rows can be recorded.

Embedding touches few rows of its table. If the gradient has an array of its own, the executor keeps
the touched rows (``touched_rows.pxd``): the next backward clears only these, and an update skips
the others.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from .accesses import find_accesses
from .ir import BACKWARD, GRAD, WRITE

if TYPE_CHECKING:
    from .ir import Graph, Step, Value


def gradients_by_rows(graph: Graph, operators: dict[Step, Any]) -> dict[Step, Value]:
    """Return gradients that a single step writes row by row, with zeros in all other rows.

    graph: After the memory pass.

    Returns dict of Step to Value: without those that another step writes or reads in the same run,
    or that are added to.
    """
    found: dict[Value, Step] = {}
    for step in graph.steps:
        index = operators[step.origin or step].rows_of
        if index and step.direction == BACKWARD and step.req[index] == WRITE:
            value = step.in_grad[index]
            if value.kind == GRAD and value.root is value:
                found[value] = step
    users: Counter[Value] = Counter()
    for step in graph.steps if found else ():
        read, written, _, _ = find_accesses([step])
        users.update({*read, *written})
    return {step: value for value, step in found.items() if users[value] == 1}
