"""examples/custom_op: every script checks itself, trains, and says how far it came."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "custom_op"


def run(name, tmp_path, *arguments):
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "CYNET_HOME": str(tmp_path),
        "CYNET_DATA_DIR": str(tmp_path / "nothing"),
    }
    command = [sys.executable, str(FOLDER / name), *map(str, arguments)]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return done.stdout


def accuracy(output):
    return float(re.search(r"validation accuracy after epoch \d+: ([\d.]+) %", output)[1])


@pytest.mark.parametrize("name", sorted(p.name for p in FOLDER.glob("softmax_*.py")))
def test_softmax_learns(name, tmp_path):
    output = run(name, tmp_path, "--dataset", "digits", "--num-epochs", 6)
    assert "probabilities and gradients are those of SoftmaxOutput" in output
    assert accuracy(output) >= 90


def test_all_ways_compute_the_same(tmp_path):
    """From one seed they come to one accuracy: the ways differ in rounding only."""
    names = ("softmax_custom.py", "softmax_numpy.py", "softmax_raw.py", "softmax_simple.py")
    found = [accuracy(run(n, tmp_path, "--dataset", "digits", "--num-epochs", 2)) for n in names]
    assert max(found) - min(found) <= 3


def test_custom_softmax_on_mnist(tmp_path, mnist_dir):
    if mnist_dir is None:
        pytest.skip("no MNIST under CYNET_DATA_DIR")
    options = ("--dataset", "mnist", "--data-dir", mnist_dir, "--num-epochs", 1)
    assert accuracy(run("softmax_custom.py", tmp_path, *options)) >= 93


def test_tile(tmp_path):
    output = run("tile.py", tmp_path, "--seed", 3)
    assert "tile: values and gradients are right along every axis" in output
    assert "outputs: ['tileop_output']" in output
    assert "output: (1, 10, 10, 10)" in output
    assert "gradient: (1, 10, 10) each 10.0 to 10.0" in output
