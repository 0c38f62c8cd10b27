"""Ctrl-C, put off while something is done that must not be left halfway."""

import contextlib
import signal
import threading


@contextlib.contextmanager
def interrupts_later():
    """SIGINT is handled when the block has ended: what a handler raises while Python runs the hooks
    around a fork, those of logging for one, is ignored; a file that was just received would stay
    open."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    waiting = []
    signal.signal(signal.SIGINT, lambda *given: waiting.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if waiting:
        handler(*waiting[0])
