"""A training that is killed and resumed ends with the same bytes; one seed decides everything."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests import scripts
from tests.long_runs import STRESS

PROGRAM = Path(__file__).with_name("resumed_training.py")
HERE, PROCESS = {"hybridize": False}, {"hybridize": True, "num_workers": 1}
THREADS = {"hybridize": True, "num_workers": 2, "thread_pool": True}


def run(prefix, settings, epochs=4, die=(-1, 0)):
    arguments = [prefix, epochs, *die, json.dumps(settings)]
    process = scripts.run(PROGRAM, *arguments, timeout=120)
    if die[0] >= 0:
        assert process.returncode == -signal.SIGKILL, process.stderr
        return None
    assert process.returncode == 0, process.stderr
    return process.stdout.split()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Digests of the training without a break, for each way to run it."""
    found = {}

    def of(settings):
        key = json.dumps(settings)
        if key not in found:
            found[key] = run(tmp_path_factory.mktemp("whole") / "net", settings)
        return found[key]

    return of


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize(
    "settings, die, after",
    [
        (HERE, (1, -1), HERE),
        (HERE, (2, 3), HERE),
        (PROCESS, (2, 3), {"hybridize": True}),
        (THREADS, (1, 5), PROCESS),
    ],
)
def test_killed_and_resumed(settings, die, after, tmp_path, whole):
    """By the same loader, or by one with another number of workers."""
    run(tmp_path / "net", settings, die=die)
    assert run(tmp_path / "net", after)[0] == whole(settings)[0]
    assert not [each for each in os.listdir(tmp_path) if each.endswith(".part")]


WORKERS = (0, False), (1, False), (2, False), (1, True), (2, True)


@pytest.mark.parametrize(
    "hybridize, some",
    [(True, WORKERS), (False, WORKERS if STRESS else WORKERS[::2])],
    ids=["hybridized", "eager"],
)
def test_workers_change_no_byte(hybridize, some, whole):
    """0, 1 and 2 workers, processes and threads."""
    found = []
    for workers, threads in some:
        settings = {"hybridize": hybridize}
        if workers:
            settings.update({"num_workers": workers} | ({"thread_pool": True} if threads else {}))
        found.append(whole(settings))
    assert len({tuple(each) for each in found}) == 1


def test_hybridizing_changes_no_order(whole):
    assert whole({"hybridize": False})[1] == whole({"hybridize": True})[1]
