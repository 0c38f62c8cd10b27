"""Observers of all computed values; without one a computation costs one comparison more.

Each list holds one function, or none.
"""

from collections.abc import Callable
from typing import Any

# called for each step after a forward or backward of an executor
executor_observers: list[Callable[..., Any]] = []  # called per step, after a pass
# called for each recorded call in backward
backward_observers: list[Callable[..., Any]] = []  # called per recorded call, in backward


def set_observer(observers: list[Callable[..., Any]], function: Callable[..., Any] | None) -> None:
    """Make `function` the only observer in `observers`, one of the two lists; None removes it.

    `executor_observers` calls ``function(step, inputs, values, is_gradient)``: `inputs` are pairs
    (name, array), of a gradient those of the outputs; `values` are arrays, None where no gradient
    is wanted. Executors run without the passes meanwhile, so that each node's values are there to
    see. `backward_observers` calls ``function(node, index of an input, gradient so far or None)``.
    """
    observers[:] = [] if function is None else [function]
