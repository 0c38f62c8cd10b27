"""benchmarks/peers: the worker runs, ratios and rows are right, tables land between the marks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PEERS = Path(__file__).parents[2] / "benchmarks" / "peers"


@pytest.fixture(scope="module")
def run(peers):
    return peers("run")


@pytest.mark.parametrize("name", ["small_add", "lstm"])
def test_a_worker_prints_seconds(name):
    command = [sys.executable, str(PEERS / "worker_mx.py"), "cynet", name]
    env = {"PYTHONPATH": str(PEERS.parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    assert 0 < json.loads(done.stdout.splitlines()[-1]) < 10


def test_a_ratio_is_the_median_of_the_rounds(run):
    times = {"cynet": [1.0, 2.0, 1.0], "torch": [3.0, 4.0, None], "mxnet": [None] * 3}
    assert run.ratio(times, "torch") == 2.5
    assert run.ratio(times, "mxnet") is None


def test_a_loss_is_marked_with_the_aim(run):
    workload = run.WORKLOADS["lenet"]
    times = {"cynet": [0.010, 0.009, 0.0105], "torch": [0.012] * 3, "mxnet": [0.040] * 3}
    row = f"| {workload.title} | 10 (to 10.5) | 12 | 40 | 1.2 (aim 1.6) | 4 |"
    assert run.line(workload, times) == row


def test_a_worker_that_fails_leaves_a_dash(run, capsys):
    assert run.ask(sys.executable, "worker_mx.py", "no_such_package", "mlp") is None
    assert "no_such_package" in capsys.readouterr().err


def test_tables_are_written_between_the_marks(run, monkeypatch, tmp_path):
    page = tmp_path / "README.md"
    page.write_text(f"before\n{run.BEGIN}\nold\n{run.END}\nafter\n")
    monkeypatch.setattr(run, "README", page)
    run.write(["| new |"])
    run.write(["| newer |"])
    assert page.read_text() == f"before\n{run.BEGIN}\n\n| newer |\n\n{run.END}\nafter\n"


def test_the_page_has_the_marks(run):
    text = run.README.read_text()
    assert text.count(run.BEGIN) == text.count(run.END) == 1


def test_later_rounds_repeat_the_best_mode(run, monkeypatch):
    asked = []

    def ask(python, worker, *args):
        asked.append(args)
        return {"mode": "compiled", "seconds": 2.0} if worker == "worker_torch.py" else 1.0

    monkeypatch.setattr(run, "ask", ask)
    times = run.measure("mlp", {"cynet": "a", "torch": "b"}, 2)
    assert asked == [("cynet", "mlp"), ("mlp",), ("cynet", "mlp"), ("mlp", "compiled")]
    assert times == {"cynet": [1.0, 1.0], "torch": [2.0, 2.0], "mode": "compiled"}


def test_the_page_has_every_row_that_was_measured(run, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "RESULTS", tmp_path / "peers" / "results.json")
    assert run.load() == {}
    times = {"cynet": [0.01], "torch": [0.02], "mxnet": [0.03], "mode": "eager"}
    results = {"lenet": {"times": times, "date": "2026-01-02", "rounds": 1}}
    run.save({**results, "engine": {"a chain": (7e-7, 7.5e-7)}})
    lines = list(run.page(run.load()))
    assert lines[0].startswith("2026-01-02, ") and "medians of 1 rounds" in lines[0]
    title = run.WORKLOADS["lenet"].title
    assert f"| {title} | 10 (to 10) | 20 (eager) | 30 | 2 | 3 (aim 3.5) |" in lines
    assert "| a chain | 0.7 | 0.75 | 0.933 (aim 0.8) |" in lines
    assert sum(row.startswith("| ResNet-50 |") for row in lines) == 2  # of the memory table
