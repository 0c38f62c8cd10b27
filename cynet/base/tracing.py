"""The graph that a thread builds while it traces a Block: calls of mx.nd become its nodes."""

import threading
from typing import Any


class _ThreadTrace(threading.local):
    depth: int = 0
    trace: Any = None


state = _ThreadTrace()  # the active trace of each thread


def active_trace() -> Any:
    """Return the Trace of this thread, or None."""
    return state.trace


def has_trace() -> bool:
    """Return whether this thread traces a Block."""
    return state.trace is not None
