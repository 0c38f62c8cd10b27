"""The estimated cost of a step: arithmetic, and seconds on a machine of one or two cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ir import FORWARD
from .memory_plan import nbytes

if TYPE_CHECKING:
    from .ir import Step


# Speeds of one or two cores; only the ratio of the two matters.
FLOPS_PER_SECOND = 2e11  # floating-point operations of a CPU, about
BYTES_PER_SECOND = 1e10  # memory traffic of a CPU, about


def flops(step: Step) -> int:
    """Return the operations of a step's matrix products and convolutions, else 0.

    A product of (n, k) with (k, m) counts 2nkm. Backward counts as much for each of the gradients
    of data and weight that it writes.
    """
    forward = step.origin or step
    ins, outs = ([v.shape for v in values] for values in (forward.in_data, forward.out_data))
    once: int = forward.prop.graph.flops(forward.prop, ins, outs)
    if step.direction == FORWARD:
        return once
    return once * sum(1 for position, _ in step.written() if position < 2)


def seconds(step: Step) -> float:
    """Estimate the seconds of a step: its arithmetic, and its reads and writes of memory."""
    touched: int = sum(map(nbytes, step.touched_values()))
    return flops(step) / FLOPS_PER_SECOND + touched / BYTES_PER_SECOND
