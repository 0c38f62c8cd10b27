"""What all tests share: the seed of a run, a random generator for each test, the MNIST folder."""

import gc
import os
import random
import signal
import sys
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.reporting import Leftovers
from tests.seconds import UNKNOWN, Seconds, known

if not os.environ.get("CYNET_TEST_GPU"):  # GPUs belong to tests/gpu, in a process of its own
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("CYNET_GRAPH_VERIFY", "1")  # each graph pass is checked
BASE_SEED = int(os.environ.get("CYNET_TEST_SEED") or random.SystemRandom().randrange(2**31))
os.environ["CYNET_TEST_SEED"] = str(BASE_SEED)  # of all processes that share out the tests


if threading.current_thread() is threading.main_thread():
    # A shell's background jobs, nohup and some runners ignore Ctrl-C or a hang-up, and so does
    # whatever they start; tests that send them need them here and in their child processes.
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_report_header(config):
    return f"CYNET_TEST_SEED={BASE_SEED} (set it to repeat this run's random numbers)"


def pytest_addoption(parser):
    parser.addoption("--draws", type=int, default=1, help="runs of each test with random numbers")
    parser.addoption("--note-seconds", action="store_true", help="write tests/seconds.txt")


def pytest_generate_tests(metafunc):
    draws = metafunc.config.getoption("draws")
    if draws > 1 and "seed" in metafunc.fixturenames:
        metafunc.fixturenames.append("draw")  # in the test's name, from which its seed follows
        metafunc.parametrize("draw", range(draws))


def pytest_collection_modifyitems(items):
    """The files that take longest come first, so that no process works alone at the end (make test
    shares out files in this order)."""
    for item in items:
        if " at 0x" in item.nodeid:  # processes that share out tests would have other names for it
            raise pytest.UsageError(f"{item.nodeid}: an address is in the name; give it an id")
    seconds = known()
    items.sort(key=lambda item: -seconds.get(item.nodeid.partition("::")[0], UNKNOWN))


def pytest_configure(config):
    config.pluginmanager.register(Seconds(config), "seconds")
    if not hasattr(config, "workerinput"):  # the process that the others report to
        config.pluginmanager.register(Leftovers(), "leftovers")


@pytest.fixture(scope="module", autouse=True)
def earlier_objects():
    """Those alive before a file's tests, the collected tests and pytest's reports above all, are
    looked at by none of its calls of ``gc.collect()``, which would take a second each."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def same_draws(request):
    """Generators of Python, NumPy and cynet begin anew in each test: what it draws from them, as a
    shuffle or an initializer does, depends neither on the tests before it nor on chance."""
    value = zlib.crc32(request.node.nodeid.encode()) % 2**31
    random.seed(value)
    np.random.seed(value)
    if "cynet.random" in sys.modules:
        sys.modules["cynet.random"].seed(value)


@pytest.fixture
def seed(request):
    """An int below 2**31: new in each run, other for each test, repeated with CYNET_TEST_SEED.

    It depends on the run's seed and the test's name only, so a test run alone repeats what it did
    in the whole suite. It is printed, and pytest shows the line when the test fails.
    """
    value = (BASE_SEED + zlib.crc32(request.node.nodeid.encode())) % 2**31
    print(f"seed {value}; repeat with CYNET_TEST_SEED={BASE_SEED}")
    return value


@pytest.fixture
def rng(seed):
    """A `numpy.random.Generator` seeded with `seed`."""
    return np.random.default_rng(seed)


@pytest.fixture(scope="session")
def mnist_dir():
    """The folder that has MNIST's IDX files (under CYNET_DATA_DIR), or None where there is none."""
    root = Path(os.environ.get("CYNET_DATA_DIR") or "data")
    for folder in (root, root / "mnist"):
        for suffix in ("", ".gz"):
            if (folder / f"train-images-idx3-ubyte{suffix}").is_file():
                return folder
    return None
