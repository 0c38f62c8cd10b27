"""Observers of every computed value; without an observer a computation costs one comparison.

Each list holds one function, or none.
"""

from collections.abc import Callable
from typing import Any

# called for each step after a forward or backward of every executor
executor_steps: list[Callable[..., Any]] = []
# called for each step of backward over recorded calls
backward_steps: list[Callable[..., Any]] = []


def set_observer(place: list[Callable[..., Any]], function: Callable[..., Any] | None) -> None:
    """Register `function` as the observer of a place; None removes it.

    `executor_steps` calls ``function(step, inputs, values, is_gradient)``: `inputs` are pairs
    (name, array), of a gradient those of the outputs; `values` are arrays, None where no gradient
    is wanted. Executors run without the passes meanwhile, so that each node's values are there to
    see. `backward_steps` calls ``function(node, number of an input, its gradient so far or None)``.
    """
    place[:] = [] if function is None else [function]
