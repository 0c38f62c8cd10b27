"""Sparse operators without a GPU implementation: computed on the host, after a warning."""

import numpy as np

from ...base import config
from ...base.errors import ArgumentError, warn_user
from ...context import cpu
from ...operator.update.rows import update_rows

_warned_functions = set()  # functions that a warning has named


def is_on_gpu(array):
    """Return whether an array is on a GPU."""
    return array.context.device_type == "gpu"


def warn_and_copy_to_host(what, arrays):
    """Dense arrays on the host; warns once that `what` is computed there, with the bytes copied."""
    nbytes = sum(array.size * np.dtype(array.dtype).itemsize for array in arrays)
    text = (
        f"{what} has no form for sparse arrays on {arrays[0].context}: it computes on the host, "
        f"{nbytes / 2**20:.1f} MiB are copied there"
    )
    if config.get("CYNET_STORAGE_FALLBACK") == "error":
        raise ArgumentError(f"{text}; CYNET_STORAGE_FALLBACK=error refuses that")
    if what not in _warned_functions:
        _warned_functions.add(what)
        warn_user(f"{text}. CYNET_STORAGE_FALLBACK=error refuses such calls")
    return [array.as_in_context(cpu()) for array in arrays]


def update_by_rows(rule, weight, values, rows, states, master, *numbers):
    """Call `update_rows`; arrays on a GPU are copied to the host and back."""
    given = [weight, *states, *([] if master is None else [master])]
    if not is_on_gpu(weight):
        update_rows(rule, weight, values, rows, states, master, *numbers)
        return
    values, *held = warn_and_copy_to_host(f"update {rule} of rows", [values, *given])
    states = tuple(held[1 : len(states) + 1])
    update_rows(
        rule, held[0], values, rows, states, held[-1] if master is not None else None, *numbers
    )
    for source, target in zip(held, given):
        source.copyto(target)
