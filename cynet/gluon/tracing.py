"""Whether this thread traces a Block: hooks rest, and hybridized Blocks inside run as they are
written. A count of changes of Blocks and parameters, after which graphs are looked at again. And
whether every operator is watched."""

import threading
from contextlib import contextmanager

_changes = [0]


def changed():
    """Note that a Block was changed, or where a parameter is."""
    _changes[0] += 1


def count_of_changes():
    """How often any Block or parameter was changed."""
    return _changes[0]


_watch = [None]


def set_watch(hook):
    """Have Blocks run operator by operator, and graphs without Blocks call
    ``hook(node_name, operator_name, array)``; None: no longer."""
    _watch[0] = hook
    changed()


def watch():
    """The hook, or None."""
    return _watch[0]


class _State(threading.local):
    depth, trace = 0, None


_state = _State()


def is_tracing():
    """Whether this thread traces, or lets Blocks infer their shapes."""
    return _state.depth > 0


def active():
    """The Trace of this thread; None where there is none."""
    return _state.trace


def has_trace():
    """Whether this thread builds a graph."""
    return _state.trace is not None


@contextmanager
def tracing(trace=None):
    """This thread traces as long as the block runs."""
    before, _state.trace = _state.trace, trace
    _state.depth += 1
    try:
        yield trace
    finally:
        _state.depth -= 1
        _state.trace = before


@contextmanager
def not_tracing():
    """Blocks run as at other times, within a run by which Blocks around them infer their shapes."""
    depth, _state.depth = _state.depth, 0
    try:
        yield
    finally:
        _state.depth = depth
