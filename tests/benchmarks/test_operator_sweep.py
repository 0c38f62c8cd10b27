"""benchmarks/operators.py: every operator is measured, and the page says what was."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cynet.operator import OPERATORS

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def sweep():
    before = list(sys.path)
    sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location("operator_sweep", FOLDER / "operators.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = before


def ask(questions):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "sweep_worker.py", "cynet"],
        input="".join(json.dumps(each) + "\n" for each in questions),
        capture_output=True,
        text=True,
        cwd=FOLDER / "peers",
        env={"PYTHONPATH": str(FOLDER.parent)},
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_small_calls_of_every_operator(sweep, tmp_path):
    """All but those whose cases are written for a test alone."""
    calls, questions = sweep.sweep_settings.settings(), []
    for (name, size), make in calls.items():
        if size == "small" and name in sweep.sweep_settings.operators():
            setting, path = make(), str(tmp_path / f"{name}.npz")
            np.savez(path, **{str(i): x for i, x in enumerate(setting.arrays)})
            params = {k: np.asarray(v).tolist() for k, v in setting.params.items()}
            questions.append((name, path, setting.states, params, "forward", 0))
    seconds, errors = ask(questions)
    assert len(seconds) == len(questions) > 250
    failed = [q[0] for q, s in zip(questions, seconds) if s is None]
    assert len(failed) < 0.02 * len(questions), errors


def test_large_settings_are_of_operators(sweep):
    calls = sweep.sweep_settings.settings()
    large = {name for name, size in calls if size == "large"}
    assert len(large) > 150 and large <= {entry.name for _, entry in OPERATORS.items()}


@pytest.mark.parametrize("name", ["_contrib_ROIAlign", "Convolution", "BatchNorm"])
def test_large_backward(sweep, tmp_path, name):
    setting, path = sweep.sweep_settings.settings()[name, "large"](), str(tmp_path / "in.npz")
    np.savez(path, **{str(i): x for i, x in enumerate(setting.arrays)})
    (seconds,), errors = ask([(name, path, setting.states, setting.params, "backward", 0)])
    assert seconds and seconds > 1e-5, errors


def test_page(sweep):
    times = {"cynet": 2e-6, "torch": 1e-6, "mxnet": 8e-7}
    results = {"softmax": {"small forward": times}}
    rows = list(sweep.page(results, {"softmax": "nn"}))
    assert "| small forward | 0.40 of 1 | 0.50 of 1 |" in rows
    assert "- `softmax`, small forward: 0.40" in rows
    assert "| `softmax` | 2.0 us, 0.4 / 0.5 | - | - | - |" in rows
    assert sweep.worst(results) == [(pytest.approx(0.4), "softmax", "small forward")]
    assert sweep.chosen_names({"a": "nn", "bb": "loss"}, ["nn"]) == ["a"]
