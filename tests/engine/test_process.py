"""The engine in processes: import, environment, the interpreter's end, threads, Ctrl-C."""

import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from cynet.engine.testing import Cells

import cynet as mx


def run_python(code, timeout=60, **kwargs):
    """Run a script in a process of its own; its output, if it ends well."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=timeout,
        **kwargs,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_starts_no_thread():
    out = run_python("""
        import os, threading
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's BLAS would start some
        import cynet
        v = cynet.engine.get().new_variable()
        tasks = "/proc/self/task"
        print(len(os.listdir(tasks)) if os.path.exists(tasks) else threading.active_count())
    """)
    assert out == "1\n"


def test_environment_chooses_the_engine():
    code = "import cynet; print(type(cynet.engine.get()).__name__)"
    for kind in ("NaiveEngine", "ThreadedEngine"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"CYNET_ENGINE_TYPE": kind},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout.strip() == kind, done.stderr


def test_the_end_of_the_interpreter_does_not_hang():
    start = time.monotonic()
    run_python("""
        import threading, time, cynet
        from cynet.engine.testing import Cells
        e = cynet.engine.get()
        v = e.new_variable()
        e.push_sync(lambda ctx: threading.Event().wait(), None, (), (v,))
        e.push_sync(print, None, (v,), ())
        mine = cynet.engine.ThreadedEngine(1)
        w = mine.new_variable()
        for i in range(100):
            mine.push_sync(lambda ctx: time.sleep(0.1), None, (), (w,))
        cells = Cells(mine, 2)
        cells.push([], [0], 0, "gate")
        cells.push([0], [1], 0, "stamp")
        cells.push([], [1], 0, "gate", gpu=0)
        cells.push([], [1], 0, "stamp", gpu=0, copies=True)
    """)
    assert time.monotonic() - start < 20


def test_threads_end_with_their_engine():
    e = mx.engine.ThreadedEngine(workers=2)
    cells = Cells(e, 4)
    before = threading.active_count()
    for i in range(100):
        cells.push([], [i % 4], 1, gpu=i % 3 - 1)
    cells.close()
    assert 1 <= e.census()["native_threads"] <= 2
    del cells, e
    mx.engine.ThreadedEngine(workers=1)
    assert threading.active_count() <= before


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("wait", ["e.wait_for_var(v)", "e.wait_for_all()"])
def test_ctrl_c_ends_a_wait(wait):
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(f"""
            import signal, threading, cynet
            # what runs in the background ignores it
            signal.signal(signal.SIGINT, signal.default_int_handler)
            e = cynet.engine.get()
            v = e.new_variable()
            gate = threading.Event()
            e.push_sync(lambda ctx: gate.wait(60), None, (), (v,))
            print("waiting", flush=True)
            try:
                {wait}
            except KeyboardInterrupt:
                gate.set()
                {wait}
                print("interrupted")
        """),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "waiting\n"
        time.sleep(0.2)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=30)
    finally:
        child.kill()
        child.communicate()
    assert out == "interrupted\n"
    assert time.monotonic() - start < 10
