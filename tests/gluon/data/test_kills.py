"""Loaders that end at random points: a worker killed, the parent interrupted, a loop left.

Nothing hangs, and no process, file or shared memory is left behind.
"""

import contextlib
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from cynet.gluon import data
from cynet.gluon.data.workers import WorkerDied

KILLS = int(os.environ.get("CYNET_STRESS_LOADERS", 9))
PATIENCE = 5.0  # seconds
pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at Linux' /proc")


class Rows(data.Dataset):
    """Samples whose batches come through shared memory, some of them slow."""

    def __len__(self):
        return 96

    def __getitem__(self, index):
        if index % 7 == 0:
            time.sleep(0.002)
        return np.full((64, 64), index, "float32"), index


def shared_memory():
    """Its blocks, without those of MPI jobs and the semaphores of other programs' pools, which come
    and go beside a test; loaders have neither."""
    names = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    others = "sem.", "sm_segment.", "mpich_shm", "vader_segment."
    return {each for each in names if not each.startswith(others)}


def left():
    """(open files, child processes, threads of loaders) of this process."""
    gc.collect()
    threads = [each for each in threading.enumerate() if each.name.startswith("cynet-data")]
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return len(os.listdir("/proc/self/fd")), len(children), len(threads)


class interrupted_after:
    """Ctrl-C, wherever this thread is then: also before the body has begun, on a busy machine."""

    def __init__(self, seconds):
        main = threading.main_thread().ident
        self.timer = threading.Timer(seconds, signal.pthread_kill, (main, signal.SIGINT))

    def __enter__(self):
        self.before = signal.signal(signal.SIGINT, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            self.timer.start()

    def __exit__(self, kind, error, trace):
        with contextlib.suppress(KeyboardInterrupt):
            self.timer.join()
        self.timer.join()
        signal.signal(signal.SIGINT, self.before)
        return kind is None or issubclass(kind, KeyboardInterrupt)


def killer(loader, seconds, which, ended):
    """Kill a worker once; remembers when, in `ended`."""

    def kill():
        pool = loader._pool
        workers = [] if pool is None else list(getattr(pool, "_workers", ()))
        with contextlib.suppress(ValueError, OSError, IndexError, TypeError):
            os.kill(workers[which].pid, signal.SIGKILL)
            ended.append(time.monotonic())

    timer = threading.Timer(seconds, kill)
    timer.start()
    return timer


def whole_epoch(loader):
    seen = []
    for _, indices in loader:
        seen.extend(indices.asnumpy().tolist())
    assert seen == list(range(96))


def leave(loader, count):
    """Leave an epoch in the middle; no batch is held afterwards."""
    for k, _ in enumerate(loader):
        if k == count:
            break


# An interrupt within a callback of fork, as logging has, cannot be raised; Python reports it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.timeout(60 + 10 * KILLS)
def test_no_loader_hangs_or_leaves_anything(rng):
    whole_epoch(data.DataLoader(Rows(), 8, num_workers=2))  # what is made once is made
    before, shared = left(), shared_memory()
    kinds = ["killed", "interrupted", "left"]
    for number in range(KILLS):
        kind = kinds[number % 3]
        threads = kind != "killed" and rng.random() < 0.3
        workers = int(rng.integers(1, 4))
        loader = data.DataLoader(Rows(), 8, num_workers=workers, thread_pool=threads)
        seconds = rng.uniform(0.0, 0.25)
        begun = time.monotonic()
        if kind == "killed":
            ended = []
            timer = killer(loader, seconds, int(rng.integers(workers)), ended)
            try:
                for _ in range(3):
                    whole_epoch(loader)
            except WorkerDied as error:
                assert "SIGKILL" in str(error) and "samples [" in str(error)
                assert time.monotonic() - ended[0] < PATIENCE
            timer.join()
        elif kind == "interrupted":
            with interrupted_after(seconds):
                while time.monotonic() - begun < seconds + PATIENCE:
                    whole_epoch(loader)
            assert time.monotonic() - begun < seconds + PATIENCE
        else:
            leave(loader, int(rng.integers(0, 12)))
        begun = time.monotonic()
        if rng.random() < 0.5:  # it can be used again, by now or once the death was seen
            with contextlib.suppress(*[WorkerDied] * (kind == "killed")):
                whole_epoch(loader)
        loader.close()
        del loader
        assert time.monotonic() - begun < PATIENCE, kind
        while multiprocessing.active_children() or left() != before:
            assert time.monotonic() - begun < 2 * PATIENCE, (kind, left(), before)
            time.sleep(0.02)
        assert shared_memory() == shared, kind


def test_an_iterator_that_was_interrupted_says_so():
    """Its workers are in the middle of a message; the next one has others."""
    loader = data.DataLoader(Rows(), 8, num_workers=2)
    batches = iter(loader)
    next(batches)
    take = loader._pool._receive_from_worker

    def interrupted(_):
        raise KeyboardInterrupt

    loader._pool._receive_from_worker = interrupted
    with pytest.raises(KeyboardInterrupt):
        for _ in batches:
            pass
    loader._pool._receive_from_worker = take
    with pytest.raises(RuntimeError, match="an interruption has left its workers"):
        for _ in batches:
            pass
    whole_epoch(loader)


PARENT = """
import signal, sys, multiprocessing
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
sys.path.insert(0, sys.argv[1])
from test_kills import Rows, data
loader = data.DataLoader(Rows(), 8, num_workers=2)
batches = iter(loader)
next(batches)
print(*[each.pid for each in multiprocessing.active_children()], flush=True)
while True:
    for batch in loader:
        pass
"""


@pytest.mark.timeout(60 + 10 * KILLS)
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_parent_that_is_killed(how, rng):
    shared = shared_memory()
    for _ in range(max(1, KILLS // 60)):
        with subprocess.Popen(
            [sys.executable, "-c", PARENT, os.path.dirname(__file__)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as parent:
            workers = [int(each) for each in parent.stdout.readline().split()]
            assert len(workers) == 2
            time.sleep(rng.uniform(0, 0.3))
            parent.send_signal(how)
            begun = time.monotonic()
            parent.wait(PATIENCE)
        while any(os.path.exists(f"/proc/{pid}/cwd") for pid in workers):
            assert time.monotonic() - begun < PATIENCE
            time.sleep(0.02)
        assert shared_memory() == shared
