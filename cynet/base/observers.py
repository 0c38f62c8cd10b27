"""Observers of every value that is computed; while there are none, a computation costs one look.

Each list holds one function, or none.
"""

from collections.abc import Callable
from typing import Any

executor_steps: list[
    Callable[..., Any]
] = []  # of each step behind a forward or backward of every executor
backward_steps: list[
    Callable[..., Any]
] = []  # of each step that the walk back over recorded calls takes


def observe(place: list[Callable[..., Any]], function: Callable[..., Any] | None) -> None:
    """Have `function` called at a place; None: no longer.

    `executor_steps` calls ``function(step, inputs, values, is_gradient)``: `inputs` are pairs
    (name, array), of a gradient those of the outputs; `values` are arrays, None where no gradient
    is wanted. Executors run without the passes meanwhile, so that each node's values are there to
    see. `backward_steps` calls ``function(node, number of an input, its gradient so far or None)``.
    """
    place[:] = [] if function is None else [function]
