"""Worker processes and worker threads of a DataLoader.

Each worker has a pipe of its own, takes tasks in order and answers in order. The parent waits for
answers and for the end of processes at once, so a worker that dies is an error at once.
"""

import contextlib
import multiprocessing
import os
import signal
import time
import warnings
import weakref
from collections import deque
from concurrent.futures import wait
from multiprocessing import connection
from multiprocessing.reduction import ForkingPickler

from ...base.errors import CynetError, describe_error, loop_error, shown
from ...base.interrupts import ThreadPool, delay_interrupts
from ..errors import StateError
from .batchify import default_batchify_fn, numpy_batchify
from .failures import decode_error, encode_error
from .fetch import fetch_samples
from .seeding import seed_process, seed_thread
from .transport import load_pickled, pack_batch, receive_batch, send_batch, unpack_batch

_PARENT_CHECK_SECONDS = 2.0  # interval of a worker's check of its parent
_STOP_TIMEOUT_SECONDS = 2.0  # a worker's time to exit before it is terminated
_WORKER_ENDED_TEXT = (
    "DataLoader: its workers were ended, by close or by an interruption; a new iterator starts new"
    " ones"
)


class WorkerTimeout(TimeoutError, CynetError):
    """A batch took longer than the `timeout` of its loader."""


class WorkerDied(StateError):
    """A worker process ended before it returned its batch."""


class BatchTask:  # a batch that a worker makes: its indices and its result
    """One batch to be made, and its result."""

    __slots__ = ("error", "future", "indices", "is_done", "key", "place", "result", "seed")

    def __init__(self, key, seed, indices):
        self.key, self.seed, self.indices = key, seed, indices
        self.place = None  # position of a stream after this batch
        self.future = None  # Future of a worker thread
        self.is_done, self.result, self.error = False, None, None

    def store(self, result, error=None):
        self.is_done, self.result, self.error = True, result, error

    def result_or_raise(self):
        if self.error is not None:
            raise self.error
        return self.result


def _main_loop(pipe, inherited, dataset, batchify, parent):
    """Main loop of a worker process: make batches until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for each in inherited:
        each.close()
    if batchify is default_batchify_fn:
        batchify = numpy_batchify
    with contextlib.suppress(EOFError, OSError):  # raised by a closed pipe
        while True:
            while not pipe.poll(_PARENT_CHECK_SECONDS):
                if os.getppid() != parent:
                    os._exit(0)
            key, seed, indices = pipe.recv()
            try:
                seed_process(seed)
                error, content = None, _fetch_packed_batch(dataset, load_pickled(indices), batchify)
            except BaseException as raised:  # user code may raise SystemExit
                error, content = encode_error(raised), pack_batch(None)
            send_batch(pipe, (key, error), content)
            error = content = None  # free the batch's memory
    os._exit(0)  # exit without the parent's atexit functions


def _fetch_packed_batch(dataset, indices, batchify):
    batch = fetch_samples(dataset, indices, batchify)
    try:
        return pack_batch(batch, numpy_stays=batchify is not numpy_batchify)
    except Exception as error:
        where = f"in the batch of samples {shown(list(indices))}, which is sent to its loader"
        raise loop_error(error, f"{describe_error(error)} (DataLoader: {where})") from error


class WorkerProcesses:
    """Worker processes that make batches of one dataset."""

    def __init__(self, count, dataset, batchify):
        methods = multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context("fork" if "fork" in methods else "spawn")
        self._workers, self._pipes = [], []
        self._tasks = []  # a queue of tasks for each worker
        self._owner = os.getpid()
        self._is_in_sync = True  # False after an interrupted pipe message
        try:
            with warnings.catch_warnings():
                # native threads do no harm: engine and pools support a fork
                warnings.simplefilter("ignore", DeprecationWarning)
                for _ in range(count):
                    with delay_interrupts():
                        self._start_worker(context, dataset, batchify)
        except BaseException:
            _stop_workers(self._workers, self._pipes, self._owner)
            raise
        self._finalizer = weakref.finalize(
            self, _stop_workers, self._workers, self._pipes, self._owner
        )

    def _start_worker(self, context, dataset, batchify):
        mine, theirs = context.Pipe()
        inherited = [*self._pipes, mine] if context.get_start_method() == "fork" else []
        worker = context.Process(
            target=_main_loop, args=(theirs, inherited, dataset, batchify, os.getpid()), daemon=True
        )
        worker.start()
        theirs.close()
        self._workers.append(worker)
        self._pipes.append(mine)
        self._tasks.append(deque())

    def push(self, task):
        """Send a task to the worker that has the fewest tasks."""
        self._refuse_out_of_sync_pipes()
        if not self._pipes:
            raise StateError(_WORKER_ENDED_TEXT)
        k = min(range(len(self._tasks)), key=lambda i: len(self._tasks[i]))
        indices = bytes(ForkingPickler.dumps(task.indices))
        self._is_in_sync = False
        self._tasks[k].append(task)
        try:
            self._pipes[k].send((task.key, task.seed, indices))
        except (BrokenPipeError, ConnectionResetError):
            self._fail_tasks_of_worker(k)
        self._is_in_sync = True

    def _refuse_out_of_sync_pipes(self):
        if not self._is_in_sync:
            raise StateError(
                "DataLoader: an interruption has left its workers in the middle of a batch; a new"
                " iterator starts new ones"
            )

    def wait(self, task, timeout):
        """Receive results until `task` is done."""
        until = None if timeout is None else time.monotonic() + timeout
        while not task.is_done:
            self._refuse_out_of_sync_pipes()
            if not self._pipes:
                raise StateError(_WORKER_ENDED_TEXT)
            left = None if until is None else max(0.0, until - time.monotonic())
            waiting = {self._pipes[k]: k for k in range(len(self._pipes)) if self._tasks[k]}
            waiting.update({self._workers[k].sentinel: k for k in waiting.values()})
            ready = connection.wait(list(waiting), left)
            if not ready:
                raise WorkerTimeout(
                    f"DataLoader: the batch of samples {shown(list(task.indices))} took longer than"
                    f" timeout={timeout} seconds; it is being made still. Slow samples need a"
                    " larger timeout, or None"
                )
            self._is_in_sync = False
            for k in {waiting[each] for each in ready}:
                self._receive_from_worker(k)
            self._is_in_sync = True

    def _receive_from_worker(self, k):
        """Receive the next result of a worker, or detect its death."""
        try:
            if not self._pipes[k].poll(0):
                self._workers[k].join(0)
                if self._workers[k].is_alive() or self._pipes[k].poll(0):
                    return
                raise EOFError
            (_, error), content = receive_batch(self._pipes[k])
        except (EOFError, OSError):
            self._fail_tasks_of_worker(k)
            return
        task = self._tasks[k].popleft()
        if error is not None:
            task.store(None, decode_error(error))
            return
        try:
            batch = unpack_batch(content)
        except Exception as raised:  # raised by the user's unpickling
            where = f"in the batch of samples {shown(list(task.indices))}, which a worker has sent"
            task.store(None, loop_error(raised, f"{describe_error(raised)} (DataLoader: {where})"))
            return
        task.store(batch)

    def _fail_tasks_of_worker(self, k):
        """Fail the tasks of a worker that died, since no other worker has its dataset."""
        worker = self._workers[k]
        worker.join(_STOP_TIMEOUT_SECONDS)
        code = worker.exitcode
        how = f"exit code {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                how = f"signal {signal.Signals(-code).name}"
            how += ", as where the system has no memory left" if code == -9 else ""
        tasks = self._tasks[k]
        first = list(tasks[0].indices) if tasks else []
        error = WorkerDied(
            f"DataLoader: worker process {worker.pid} died ({how}) while it made the batch of"
            f" samples {shown(first)}"
        )
        for task in tasks:
            task.store(None, error)
        tasks.clear()

    def is_usable(self):
        """Return whether every worker is alive, belongs to this process and accepts tasks."""
        return (
            self._is_in_sync
            and self._owner == os.getpid()
            and all(each.is_alive() for each in self._workers)
        )

    def close(self):
        """End the workers."""
        self._finalizer()


def _stop_workers(workers, pipes, owner):
    if owner != os.getpid():  # not the process that started them
        return
    for each in pipes:
        with contextlib.suppress(OSError):
            each.close()
    until = time.monotonic() + _STOP_TIMEOUT_SECONDS
    for each in workers:
        each.join(0.05)
    for each in workers:
        if each.is_alive():
            each.terminate()
    for each in workers:
        each.join(max(0.1, until - time.monotonic()))
        if each.is_alive():
            each.kill()
            each.join()
        each.close()
    workers.clear()
    pipes.clear()


class WorkerThreads:
    """Worker threads that make batches of one dataset."""

    def __init__(self, count, dataset, batchify):
        self._pool = ThreadPool(count, thread_name_prefix="cynet-data")
        self._dataset, self._batchify = dataset, batchify
        self._closed = False
        weakref.finalize(self, self._pool.shutdown, wait=False, cancel_futures=True)

    def push(self, task):
        """Submit a task to the threads."""
        if self._closed or self._pool.interrupted:
            raise StateError(_WORKER_ENDED_TEXT)
        task.future = self._pool.submit(_make_batch_of_task, task, self._dataset, self._batchify)

    def wait(self, task, timeout):
        """Wait for the result of `task`."""
        if task.future is not None and not wait([task.future], timeout).done:
            raise WorkerTimeout(
                f"DataLoader: the batch of samples {shown(list(task.indices))} took longer than"
                f" timeout={timeout} seconds"
            )
        if not task.is_done:  # the pool was closed before it ran
            task.store(None, StateError(_WORKER_ENDED_TEXT))

    def is_usable(self):
        """Return whether the threads accept tasks."""
        return not (self._closed or self._pool.interrupted)

    def close(self):
        """Stop the threads once their tasks are done."""
        self._closed = True
        self._pool.shutdown(wait=False, cancel_futures=True)


def _make_batch_of_task(task, dataset, batchify):
    try:
        with seed_thread(task.seed):
            found = fetch_samples(dataset, task.indices, batchify), None
    except BaseException as error:  # wait() raises it
        found = None, error
    task.store(*found)
