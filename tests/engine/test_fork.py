"""Processes: fork while work is in flight, multiprocessing's fork and spawn, subprocess."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time

import pytest
from cynet.engine.testing import Cells

import cynet as mx
from tests.long_runs import STRESS

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    # Python 3.12 and later warn of a fork while threads run, which is what is tested here.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
FORKS = 500 if STRESS else 12


def in_child(body, timeout=30):
    """Fork, run body() in the child; its exit status, or 'hangs'."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = body() or 0
        finally:
            os._exit(status)
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return "hangs"


def use(engine, cells, variable):
    """What a child does with the engine it inherited: native and Python work, waits."""
    before = cells.values()[0]
    cells.push([1], [0], 0, "stamp")
    cells.push([1], [0], 0, "stamp", gpu=0)
    cells.wait(0)
    seen = []
    engine.push_sync(lambda ctx: seen.append(1), None, (), (variable,))
    engine.wait_for_var(variable)
    engine.wait_for_all()
    return 0 if seen == [1] and cells.values()[0] != before else 2


@pytest.mark.parametrize(
    "make",
    [mx.engine.get, lambda: mx.engine.ThreadedEngine(2), mx.engine.NaiveEngine],
    ids=["default", "two", "naive"],
)
def test_forks_while_another_thread_pushes(make):
    """12 forks of each engine, 500 under `make stress`; no child hangs."""
    engine = make()
    cells, variable = Cells(engine, 5), engine.new_variable()
    own = Cells(engine, 3)
    stop = threading.Event()

    def push():
        i = 0
        while not stop.is_set():
            for _ in range(200):
                i += 1
                own.push([i % 3], [(i + 1) % 3], i, gpu=i % 4 - 2)
            own.wait(i % 3)
            engine.push_sync(lambda ctx: None, None, (), (variable,))
            time.sleep(0.0002)

    thread = threading.Thread(target=push)
    thread.start()
    try:
        for _ in range(FORKS):
            assert in_child(lambda: use(engine, cells, variable)) == 0
    finally:
        stop.set()
        thread.join(30)
    engine.wait_for_all()
    cells.close()
    own.close()


def test_work_in_flight_does_not_run_in_the_child():
    engine = mx.engine.ThreadedEngine(workers=1)
    cells = Cells(engine, 3)
    cells.push([], [0], 0, "gate")
    cells.push([0], [1], 0, "stamp")

    def child():
        cells.wait(0)  # idle here
        cells.wait(1)
        engine.wait_for_all()
        if cells.values() != [0, 0, 0]:
            return 2
        cells.push([0], [1], 0, "stamp")
        cells.wait(1)
        return 0 if cells.values() == [0, 1, 0] else 3

    assert in_child(child) == 0
    cells.open_gate()
    cells.wait(1)
    assert cells.values() == [0, 1, 0]
    cells.close()


def test_fork_inside_a_function():
    engine = mx.engine.ThreadedEngine(workers=1)
    cells, variable, statuses = Cells(engine, 2), engine.new_variable(), []

    def child():
        other = engine.new_variable()
        return use(engine, cells, other)

    engine.push_sync(lambda ctx: statuses.append(in_child(child)), None, (), (variable,))
    engine.wait_for_var(variable)
    assert statuses == [0]
    cells.close()


def test_fork_of_a_fork():
    engine = mx.engine.get()
    cells, variable = Cells(engine, 2), engine.new_variable()
    use(engine, cells, variable)

    def child():
        return use(engine, cells, variable) or in_child(lambda: use(engine, cells, variable))

    assert in_child(child) == 0
    cells.close()


def double(queue, number):
    """The body of a process of multiprocessing."""
    engine = mx.engine.get()
    v, out = engine.new_variable(), []
    engine.push_sync(lambda ctx: out.append(2 * number), None, (), (v,))
    engine.wait_for_var(v)
    queue.put(out[0])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method):
    engine = mx.engine.get()
    v = engine.new_variable()
    engine.push_sync(lambda ctx: None, None, (), (v,))
    engine.wait_for_var(v)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    processes = [context.Process(target=double, args=(queue, i)) for i in range(2)]
    for process in processes:
        process.start()
    assert sorted(queue.get(timeout=60) for _ in processes) == [0, 2]
    for process in processes:
        process.join(60)
        assert process.exitcode == 0


def test_subprocess_inside_a_function():
    engine = mx.engine.get()
    v, out = engine.new_variable(), []
    engine.push_sync(
        lambda ctx: out.append(subprocess.check_output([sys.executable, "-c", "print(6 * 7)"])),
        None,
        (),
        (v,),
    )
    engine.wait_for_var(v)
    assert out[0].split() == [b"42"]
