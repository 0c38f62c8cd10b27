"""The graph that the thread builds while a Block is traced: mx.nd's functions become its nodes."""

import threading


class _State(threading.local):
    depth, trace = 0, None


state = _State()


def active():
    """The Trace of this thread; None where there is none."""
    return state.trace


def has_trace():
    """Return whether this thread builds a graph."""
    return state.trace is not None
