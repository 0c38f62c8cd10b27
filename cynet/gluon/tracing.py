"""The state of a thread that traces a Block: no hooks run, and hybridized Blocks inside run as they
are written. A count of changes of Blocks and parameters, after which graphs are looked at again.
And whether every operator is watched."""

from contextlib import contextmanager

from ..base.tracing import state as _thread

change_count = [0]  # count of changes of any Block or parameter


def count_block_change():
    """Count a change of a Block, or of a parameter's arrays."""
    change_count[0] += 1


_operator_hook = [None]  # the hook that `set_operator_hook` sets


def set_operator_hook(hook):
    """Set a hook ``hook(node_name, operator_name, array)`` for all operators: Blocks run without
    graphs, other graphs call it. None removes the hook."""
    _operator_hook[0] = hook
    count_block_change()


def operator_hook():
    """Return the hook that `set_operator_hook` has set, or None."""
    return _operator_hook[0]


def is_tracing():
    """Return whether this thread traces a Block or infers its shapes."""
    return _thread.depth > 0


@contextmanager
def tracing(trace=None):
    """A ``with`` scope in which this thread traces."""
    before, _thread.trace = _thread.trace, trace
    _thread.depth += 1
    try:
        yield trace
    finally:
        _thread.depth -= 1
        _thread.trace = before


@contextmanager
def pause_tracing():
    """A ``with`` scope inside of `tracing` in which Blocks run normally."""
    depth, _thread.depth = _thread.depth, 0
    try:
        yield
    finally:
        _thread.depth = depth
