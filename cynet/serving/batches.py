"""Combines the requests of many threads into batches. It has no thread: callers take turns.

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


class RowsJob:  # a request's rows and results
    """A request: rows for the network, and their results."""

    __slots__ = ("arrays", "done", "error", "key", "leads", "result", "rows", "wake")

    def __init__(self, arrays: list[Any], rows: int, key: Any) -> None:
        self.arrays, self.rows, self.key = arrays, rows, key
        self.wake: Any = None  # a lock while the job waits; released once
        self.leads = self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class BatchRunner:
    """Runs jobs in batches.

    run: Takes a list of jobs of one key and returns a list of results.
    maximum: Rows of a batch.
    delay: Seconds that a batch may wait for more rows.
    waiting: Rows that may wait.
    workers: Batches that run at the same time.
    """

    def __init__(
        self,
        run: Callable[[list[RowsJob]], list[Any]],
        maximum: int,
        delay: float,
        waiting: int,
        workers: int,
        counters: Counters,
    ) -> None:
        self._run, self._limit, self._delay = run, maximum, delay
        self._waiting, self._workers, self._counters = waiting, workers, counters
        self.closed = False
        self._reset_queue()

    def _reset_queue(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._more = threading.Condition(self._lock)  # notified when rows arrive or a batch ends
        self._queue: list[RowsJob] = []
        self._rows = self._running = 0
        self._gathers = False

    @property
    def waiting_rows(self) -> int:
        """The number of waiting rows."""
        return self._rows

    def run_job(self, job: RowsJob, timeout: float | None) -> Any:
        """Wait for a job's turn and run it; return its result or raise its exception.

        Raises BusyError: Too many rows wait. Raises WaitedError: its turn did not come within
        `timeout` seconds. Raises StateError: After `close`.
        """
        if self._pid != os.getpid():
            self._reset_queue()  # a fork: the threads that waited do not exist here
        with self._lock:
            if self.closed:
                raise StateError("the Predictor is closed")
            if self._queue and self._rows + job.rows > self._waiting:
                raise BusyError(f"{self._rows} rows wait, and at most {self._waiting} may")
            idle = not (self._queue or self._gathers or self._delay)
            alone = idle and self._running < self._workers
            if alone:
                self._running += 1
            else:
                job.wake = threading.Lock()
                job.wake.acquire()
                self._queue.append(job)
                self._rows += job.rows
                self._more.notify_all()
                self._wake_leader()
        if alone:
            self._run_alone(job)
        else:
            self._wait_for_job(job, timeout)
        if job.error is not None:
            raise job.error
        return job.result

    def close(self, timeout: float | None = None) -> bool:
        """Refuse new jobs, and wait for the present ones; return whether they are done."""
        with self._lock:
            self.closed = True
            return self._more.wait_for(lambda: not (self._queue or self._running), timeout)

    def _wake_leader(self) -> None:
        """Wake the first waiting caller if it may run the next batch; the lock must be held."""
        if self._queue and not self._gathers and self._running < self._workers:
            self._running += 1
            self._gathers = True
            self._queue[0].leads = True
            self._queue[0].wake.release()

    def _wait_for_job(self, job: RowsJob, timeout: float | None) -> None:
        """Wait until another thread has run the job, or this thread's turn for a batch comes."""
        end = None if timeout is None else time.monotonic() + timeout
        try:
            while not (job.leads or job.done):
                left = -1 if end is None else end - time.monotonic()
                if end is not None and left <= 0:
                    if self._remove_job(job):
                        raise WaitedError(f"no turn within {timeout:g} s, {self._rows} rows wait")
                    left = 0.001  # a batch has taken the job
                job.wake.acquire(timeout=left)
        except BaseException:  # an interrupt such as Ctrl-C: the next thread takes the turn
            self._remove_job(job, as_leader=True)
            raise
        if not job.done:
            self._run_batch(job)

    def _remove_job(self, job: RowsJob, as_leader: bool = False) -> bool:
        """Remove a job from the queue; return False if it has left the queue already."""
        with self._lock:
            if job not in self._queue or (job.leads and not as_leader):
                return False
            self._queue.remove(job)
            self._rows -= job.rows
            if job.leads:
                self._running -= 1
                self._gathers = False
                self._wake_leader()
            self._more.notify_all()
            return True

    def _run_alone(self, job: RowsJob) -> None:
        """Run a job whose turn it is at once, as a separate batch."""
        try:
            self._compute_jobs([job])
            job.done = True
        finally:
            with self._lock:
                self._running -= 1
                self._wake_leader()
                self._more.notify_all()

    def _run_batch(self, job: RowsJob) -> None:
        jobs = [job]
        try:
            jobs = self._collect_batch(job)
            self._compute_jobs(jobs)
        finally:
            for each in jobs:
                if not each.done and each.error is None:  # an interrupt such as Ctrl-C
                    each.error = StateError("the thread that ran the batch was interrupted")
                each.done = True
                if each is not job:
                    each.wake.release()
            with self._lock:
                if job in self._queue:  # interrupted while the job was in the queue
                    self._queue.remove(job)
                    self._rows -= job.rows
                    self._gathers = False
                self._running -= 1
                self._wake_leader()
                self._more.notify_all()

    def _collect_batch(self, job: RowsJob) -> list[RowsJob]:
        """Take the jobs of the batch that begins with `job` out of the queue."""
        with self._lock:
            if self._delay > 0:
                end = time.monotonic() + self._delay
                while not self.closed and (left := end - time.monotonic()) > 0:
                    if sum(each.rows for each in self._queue if each.key == job.key) >= self._limit:
                        break
                    self._more.wait(left)
            jobs, rows = [], 0
            for each in self._queue:
                if each.key == job.key and rows + each.rows <= self._limit:
                    jobs.append(each)
                    rows += each.rows
                    if rows == self._limit:
                        break
            taken = set(map(id, jobs))
            self._queue = [each for each in self._queue if id(each) not in taken]
            self._rows -= rows
            self._gathers = False
            self._wake_leader()
            return jobs

    def _compute_jobs(self, jobs: list[RowsJob]) -> None:
        self._counters.count_batch(sum(each.rows for each in jobs))
        try:
            results = self._run(jobs)
        except Exception as error:
            if len(jobs) == 1:
                jobs[0].error = error
                return
            for each in jobs:  # one bad job must not fail the other jobs
                self._compute_jobs([each])
            return
        for each, result in zip(jobs, results):
            each.result, each.done = result, True
