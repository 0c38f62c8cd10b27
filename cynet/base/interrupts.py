"""Delays Ctrl-C during operations that must be completed."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


@contextlib.contextmanager
def delay_interrupts() -> Iterator[None]:
    """Delay SIGINT until the end of the block. Python ignores exceptions of handlers while it runs
    the hooks around a fork (logging has some); and a file that was just received would stay
    open."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    waiting: list[Any] = []
    signal.signal(signal.SIGINT, lambda *given: waiting.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if waiting:
        handler(*waiting[0])


class ThreadPool(ThreadPoolExecutor):
    """A thread pool that is shut down if a signal interrupts `submit`.

    A KeyboardInterrupt while Python waits for a new thread to begin leaves that thread out of the
    executor's list. The interpreter would wait for it forever at its end. Shut down, it ends.
    """

    interrupted = False

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        try:
            return super().submit(fn, *args, **kwargs)
        except Exception:
            raise
        except BaseException:
            self.interrupted = True
            self.shutdown(wait=False, cancel_futures=True)
            raise
