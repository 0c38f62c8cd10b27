"""Joins the requests of many threads to batches. No thread of its own: callers take turns.

The first of those who wait runs the network for itself and for those behind it that fit; then it
hands the turn to the first one left. What comes while a batch runs is the next batch.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from ..base.errors import StateError
from .counters import Counters
from .errors import BusyError, WaitedError


class Job:
    """A request: rows for the network, and what became of them."""

    __slots__ = ("arrays", "done", "error", "key", "result", "rows", "turn", "wake")

    def __init__(self, arrays: list[Any], rows: int, key: Any) -> None:
        self.arrays, self.rows, self.key = arrays, rows, key
        self.wake: threading.Event | None = None  # of one that waits
        self.turn = self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class Batches:
    """Runs jobs in batches.

    Parameters
    ----------
    run : callable
        Takes a list of jobs of one key and gives a list of results.
    most : int
        Rows of a batch.
    delay : float
        Seconds that a batch may wait for more rows.
    waiting : int
        Rows that may wait.
    workers : int
        Batches that run at the same time.
    counters : Counters
    """

    def __init__(
        self,
        run: Callable[[list[Job]], list[Any]],
        most: int,
        delay: float,
        waiting: int,
        workers: int,
        counters: Counters,
    ) -> None:
        self._run, self._most, self._delay = run, most, delay
        self._waiting, self._workers, self._counters = waiting, workers, counters
        self.closed = False
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._more = threading.Condition(self._lock)  # rows came, or a batch has ended
        self._queue: list[Job] = []
        self._rows = self._turns = 0
        self._gathers = False

    @property
    def rows(self) -> int:
        """Rows that wait."""
        return self._rows

    def do(self, job: Job, timeout: float | None) -> Any:
        """The result of a job; what it raised is raised.

        Raises
        ------
        BusyError
            Too many rows wait.
        WaitedError
            Its turn did not come within `timeout` seconds.
        StateError
            After `close`.
        """
        if self._pid != os.getpid():
            self._reset()  # the threads that waited are not in this process
        end = None if timeout is None else time.monotonic() + timeout
        with self._lock:
            if self.closed:
                raise StateError("the Predictor is closed")
            if self._queue and self._rows + job.rows > self._waiting:
                raise BusyError(f"{self._rows} rows wait, and at most {self._waiting} may")
            idle = not (self._queue or self._gathers or self._delay)
            alone = idle and self._turns < self._workers
            if alone:
                self._turns += 1
            else:
                job.wake = threading.Event()
                self._queue.append(job)
                self._rows += job.rows
                self._more.notify_all()
                self._give_turn()
        if alone:
            self._run_alone(job)
        while not job.done:
            if job.turn:
                self._take_turn(job)
                break
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0 and self._leave(job):
                raise WaitedError(f"no turn within {timeout:g} s, {self._rows} rows wait")
            job.wake.wait(None if left is None else max(left, 0.001))
            if not job.done:
                job.wake.clear()
        if job.error is not None:
            raise job.error
        return job.result

    def close(self) -> None:
        """Take no more jobs, and wait for those that are there."""
        with self._lock:
            self.closed = True
            while self._queue or self._turns:
                self._more.wait()

    def _give_turn(self) -> None:
        """Under the lock: let the first of those who wait run the next batch, if one may run."""
        if self._queue and not self._gathers and self._turns < self._workers:
            self._turns += 1
            self._gathers = True
            self._queue[0].turn = True
            self._queue[0].wake.set()

    def _leave(self, job: Job) -> bool:
        """Take a job out; False if it is too late for that."""
        with self._lock:
            if job.turn or job not in self._queue:
                return False
            self._queue.remove(job)
            self._rows -= job.rows
            self._more.notify_all()
            return True

    def _run_alone(self, job: Job) -> None:
        """Run a job whose turn it is at once, as a batch of its own."""
        try:
            self._compute([job])
            job.done = True
        finally:
            with self._lock:
                self._turns -= 1
                self._give_turn()
                self._more.notify_all()

    def _take_turn(self, job: Job) -> None:
        jobs = [job]
        try:
            jobs = self._gather(job)
            self._compute(jobs)
        finally:
            for each in jobs:
                if not each.done and each.error is None:  # a KeyboardInterrupt, for one
                    each.error = StateError("the thread that ran the batch was interrupted")
                each.done = True
                each.wake.set()
            with self._lock:
                if job in self._queue:  # interrupted before it was taken out
                    self._queue.remove(job)
                    self._rows -= job.rows
                    self._gathers = False
                self._turns -= 1
                self._give_turn()
                self._more.notify_all()

    def _gather(self, job: Job) -> list[Job]:
        """The jobs of the batch that begins with `job`, taken out."""
        with self._lock:
            if self._delay > 0:
                end = time.monotonic() + self._delay
                while not self.closed and (left := end - time.monotonic()) > 0:
                    if sum(each.rows for each in self._queue if each.key == job.key) >= self._most:
                        break
                    self._more.wait(left)
            jobs, rows = [], 0
            for each in self._queue:
                if each.key == job.key and rows + each.rows <= self._most:
                    jobs.append(each)
                    rows += each.rows
                    if rows == self._most:
                        break
            taken = set(map(id, jobs))
            self._queue = [each for each in self._queue if id(each) not in taken]
            self._rows -= rows
            self._gathers = False
            self._give_turn()
            return jobs

    def _compute(self, jobs: list[Job]) -> None:
        self._counters.ran(sum(each.rows for each in jobs))
        try:
            results = self._run(jobs)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].error = error
                return
            for each in jobs:  # one must not spoil the answers of the others
                self._compute([each])
            return
        for each, result in zip(jobs, results):
            each.result, each.done = result, True
