"""Which graph the thread builds while a Block is traced: functions of mx.nd become nodes of it."""

import threading


class _State(threading.local):
    depth, trace = 0, None


state = _State()


def active():
    """The Trace of this thread; None where there is none."""
    return state.trace


def has_trace():
    """Whether this thread builds a graph."""
    return state.trace is not None
