"""Whether this thread traces a Block: hooks rest, and hybridized Blocks inside run as they are
written."""

import threading
from contextlib import contextmanager


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
