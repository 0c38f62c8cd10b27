"""BatchPipeline: threads that prepare batches ahead of their use, in order."""

import os
from collections import deque
from concurrent.futures import wait
from contextlib import suppress

from ..base.errors import ArgumentError, describe_error, loop_error
from ..base.interrupts import ThreadPool


class BatchPipeline:  # fills batches ahead in threads
    """Calls ``fill(task, part)`` for all parts of each task in threads; returns tasks in order.

    At most `ahead` tasks are begun and not yet given. The first error of a task, in the order of
    its parts, is raised where the task would be given; the next call goes on after it.

    tasks: iterator
    parts (int): Into how many parts a task is cut.
    fill: callable
    threads, ahead: int
    """

    def __init__(self, tasks, parts, fill, threads, ahead):
        if threads < 1 or ahead < 1:
            raise ArgumentError(f"threads and batches ahead are 1 or more, got {threads}, {ahead}")
        self._tasks, self._parts, self._fill, self._ahead = tasks, parts, fill, ahead
        self._begun = deque()  # pairs (task, futures of its parts)
        self._threads = ThreadPool(threads, thread_name_prefix="cynet-images")
        self._process = os.getpid()
        self._refill_queue()

    def _refill_queue(self):
        while len(self._begun) < self._ahead:
            task = next(self._tasks, None)
            if task is None:
                return
            futures = [self._threads.submit(self._fill, task, i) for i in range(self._parts)]
            self._begun.append((task, futures))

    def is_usable(self):
        """Return whether the threads exist: started in this process, and not ended by Ctrl-C."""
        return self._process == os.getpid() and not self._threads.interrupted

    def next(self):
        """Return the next filled task, or None at the end."""
        if not self._begun:
            return None
        task, futures = self._begun[0]
        wait(futures)  # all parts: no thread may write to a returned task
        self._begun.popleft()
        self._refill_queue()
        for each in futures:
            try:
                each.result()
            except StopIteration as error:  # a user's StopIteration would end the epoch
                raise loop_error(
                    error, f"{describe_error(error)} (in a thread that fills a batch)"
                ) from error
        return task

    def close(self):
        """Stop: running tasks finish, no new tasks start."""
        self._cancel_tasks(wait=True)

    def _cancel_tasks(self, wait):
        begun, self._begun = self._begun, deque()
        for _, futures in begun:
            for each in futures:
                each.cancel()
        if self._process == os.getpid():
            self._threads.shutdown(wait=wait, cancel_futures=True)

    def __del__(self):
        # The garbage collector may call this anywhere, even in a thread that is starting: waiting
        # there for another thread could deadlock.
        with suppress(Exception):  # errors at the interpreter's end are ignored
            self._cancel_tasks(wait=False)
