"""The thread setting: bounds, the environment variable."""

import os
import subprocess
import sys

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError
from cynet.kernels.parallel import get_num_threads, set_num_threads
from tests.rounding import assert_summed_alike


def test_set_returns_the_setting_before():
    before = set_num_threads(1)
    try:
        assert get_num_threads() == 1
        assert set_num_threads(0) == 1
        assert get_num_threads() >= 1
    finally:
        set_num_threads(before)


def test_threads_that_would_wait_for_a_core_are_not_started():
    """With more threads than cores, kernels take up to a hundred times as long as with one."""
    before = set_num_threads(0)
    try:
        cores = get_num_threads()
        set_num_threads(cores + 6)
        assert get_num_threads() == cores
        set_num_threads(cores + 6, beyond_cores=True)
        assert get_num_threads() == cores + 6
    finally:
        set_num_threads(before)


def test_bad_settings_are_refused():
    with pytest.raises(ArgumentError, match="-1"):
        set_num_threads(-1)
    for bad in (1.5, "2", None, True):
        with pytest.raises(ArgumentTypeError, match="must be an int"):
            set_num_threads(bad)


def test_environment_variable():
    code = "from cynet.kernels.parallel import get_num_threads; print(get_num_threads())"
    found = []
    for number in ("1", "0", "4096"):
        out = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "CYNET_NUM_THREADS": number},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(int(out.stdout))
    assert found[0] == 1
    assert found[1] == found[2] >= 1


def test_threads_give_one_result():
    """Sums in parts and elementwise ranges: what one thread gives, but for rounding."""
    rng = np.random.RandomState(7)
    a = mx.nd.array(rng.rand(300, 1000))
    found = []
    for threads in (1, 2, 3):
        before = set_num_threads(threads, beyond_cores=True)
        try:
            arrays = [mx.nd.tanh(a), mx.nd.sum(a), mx.nd.sum(a, axis=0), mx.nd.softmax(a)]
            found.append([x.asnumpy() for x in arrays])
        finally:
            set_num_threads(before)
    for other in found[1:]:
        for one, two in zip(found[0], other):
            assert_summed_alike(two, one, 300_000)


@pytest.mark.parametrize("size", [70001, 100000, 262143])
def test_no_number_of_threads_changes_an_element(size):
    """Whether threads are awake decides how many work, so results must not depend on it."""
    rng = np.random.RandomState(size)
    a, b = (mx.nd.array(rng.uniform(-3, 3, size)) for _ in range(2))
    found = []
    for threads in (1, 2, 3, 5):
        before = set_num_threads(threads, beyond_cores=True)
        try:
            for _ in range(2):  # the second time the team is awake
                mx.nd.exp(mx.nd.zeros(1 << 20)).wait_to_read()
                arrays = [mx.nd.exp(a), mx.nd.tanh(a), mx.nd.sigmoid(a), a * b, a.astype("int8")]
                found.append([x.asnumpy() for x in arrays])
        finally:
            set_num_threads(before)
    for other in found[1:]:
        for one, two in zip(found[0], other):
            np.testing.assert_array_equal(two, one)


@pytest.mark.skipif(sys.platform != "linux", reason="counts the threads that run by /proc")
def test_no_sleeping_thread_is_woken_for_little_work():
    """After a rest, half a million elements stay on one thread: another takes longer to wake."""
    code = """
import time
from pathlib import Path
import cynet as mx

def switches():  # how often each other thread went to sleep
    own = str(Path('/proc/self').resolve().name)
    texts = {t.name: (t / 'status').read_text() for t in Path('/proc/self/task').iterdir()}
    return {k: int(v.split('voluntary_ctxt_switches:')[1].split()[0])
            for k, v in texts.items() if k != own}

mx.set_num_threads(2)
small, large = mx.nd.ones(100000), mx.nd.ones(1 << 20)
mx.nd.exp(large, out=large).wait_to_read()
time.sleep(0.05)
before = switches()
for _ in range(20):
    time.sleep(0.002)
    mx.nd.exp(small, out=small).wait_to_read()
time.sleep(0.01)
after = switches()
print(len(before), max([after[k] - before[k] for k in before], default=0))
"""
    environ = {**os.environ, "CYNET_BULK": "0"}  # a bulk is pushed to a worker, which wakes
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ
    )
    threads, woken = map(int, done.stdout.split())
    print(threads, woken)
    assert woken <= 2
