"""Sparse programs in MXNet's style, which MXNet 1.9.1 runs, too, run unmodified."""

import sys
from pathlib import Path

import pytest

from tests.distributed import ranks
from tests.scripts import run

FOLDER = Path(__file__).parent / "sparse_programs"
PROGRAMS = [
    ("linear_classification", "--optimizer", "adagrad"),
    ("linear_classification", "--optimizer", "sgd", "--kvstore", "local"),
    ("linear_classification", "--optimizer", "ftrl", "--kvstore", "device"),
    ("factorization_machine",),
    ("matrix_factorization",),
    ("wide_deep",),
    ("sparse_embedding",),
    ("rows_of_workers",),
]


def test_all_are_tried():
    assert {name for name, *_ in PROGRAMS} == {each.stem for each in FOLDER.glob("*.py")}


@pytest.mark.parametrize("name, arguments", [(name, rest) for name, *rest in PROGRAMS[:-1]])
def test_a_program_trains(tmp_path, name, arguments):
    done = run("cynet", FOLDER / f"{name}.py", *arguments, cwd=tmp_path)
    assert not done.returncode, done.stderr[-2000:]
    assert any(word in done.stdout for word in ("accuracy", "mean square", "losses"))


def test_workers_share_a_table():
    ranks.need_mpi()
    program = FOLDER / "rows_of_workers.py"
    started = ranks.start(2, sys.executable, "-m", "cynet", program)
    code, out, err = ranks.finish(started)
    assert code == 0, err[-2000:]
    assert "worker 0 of 2" in out and "worker 1 of 2" in out
