"""Importing cynet is quick, starts no thread and needs no optional package."""

import subprocess
import sys


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_at_most_a_third_of_a_second_beyond_numpy():
    code = (
        "import time, numpy; start = time.perf_counter(); import cynet; "
        "print(time.perf_counter() - start)"
    )
    assert min(float(run(code)) for _ in range(5)) <= 0.3


def test_starts_no_thread():
    code = (
        "import os, numpy; before = len(os.listdir('/proc/self/task')); import cynet; "
        "print(len(os.listdir('/proc/self/task')) - before)"
    )
    assert int(run(code)) == 0


def test_needs_no_optional_package():
    loaded = set(run("import sys, cynet; print(*sys.modules)").split())
    assert not loaded & {"matplotlib", "PIL", "pycuda", "mpi4py", "scipy", "graphviz"}
