"""The graph that the thread builds while a Block is traced: mx.nd's functions become its nodes."""

import threading
from typing import Any


class _State(threading.local):
    depth: int = 0
    trace: Any = None


state = _State()


def active() -> Any:
    """The Trace of this thread, or None."""
    return state.trace


def has_trace() -> bool:
    """Return whether this thread builds a graph."""
    return state.trace is not None
