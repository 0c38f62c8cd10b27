"""examples/sparse: each program in a small form learns, and touches few rows in a step."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

FOLDER = Path(__file__).parent.parent.parent / "examples" / "sparse"
SMALL = {
    "linear_classification": ("--features", "3000", "--examples", "2000", "--each", "10"),
    "factorization_machine": ("--features", "1000", "--examples", "2000", "--epochs", "8"),
    "matrix_factorization": ("--users", "500", "--items", "300", "--ratings", "8000"),
    "wide_deep": ("--features", "2000", "--examples", "2000", "--categories", "300"),
}


@pytest.fixture
def run(monkeypatch):
    """``run("program", "--option", ...)``: what its `main` returns."""
    monkeypatch.syspath_prepend(str(FOLDER))
    before = np.random.get_state(), mx.random.shuffle_state()

    def call(name, *options):
        sys.modules.pop("common", None)
        spec = importlib.util.spec_from_file_location(f"sparse_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.main(list(options))

    yield call
    sys.modules.pop("common", None)
    np.random.set_state(before[0])
    mx.random.set_shuffle_state(before[1])


def test_all_are_tried():
    assert {path.stem for path in FOLDER.glob("*.py")} == {"common", *SMALL}


@pytest.mark.parametrize("name", SMALL)
def test_it_learns(run, name, capsys):
    accuracy, share = run(name, "--batch-size", "50", *SMALL[name])
    assert accuracy > 0.75 and 0 < share < 0.35
    assert f"accuracy {accuracy:.3f}; a step touches" in capsys.readouterr().out
