"""A pool of threads that Ctrl-C cannot leave with a thread that nobody ends."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class ThreadPool(ThreadPoolExecutor):
    """An executor that is shut down when a signal interrupts `submit`.

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
