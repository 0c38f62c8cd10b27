"""examples/custom_op: the four ways come to the same (what they print: test_topics.py)."""

import re

import pytest

import cynet as mx
from tests import scripts
from tests.example_output import ROOT, run

WAYS = ("custom", "numpy", "raw", "simple")


def accuracy(printed):
    return float(re.search(r"validation accuracy: ([\d.]+) %", printed)[1])


def test_all_ways_compute_the_same(tmp_path):
    """From one seed they come to one accuracy: the ways differ in rounding only."""
    found = {}
    for way in WAYS:
        printed = run(f"custom_op/softmax_{way}.py", "--epochs", 2, cwd=tmp_path)
        found[way] = accuracy(printed)
    assert max(found.values()) - min(found.values()) <= 3


def test_the_checkpoint_needs_no_program(tmp_path):
    """It has the built-in loss, and classifies as well as the program says."""
    printed = run("custom_op/softmax_simple.py", "--epochs", 4, cwd=tmp_path)
    module = mx.mod.Module.load(str(tmp_path / "out" / "softmax_simple"), 4)
    assert module.symbol.list_outputs() == ["softmax_output"] and accuracy(printed) > 80


def test_custom_softmax_on_mnist(tmp_path, mnist_dir):
    if mnist_dir is None:
        pytest.skip("no MNIST under CYNET_DATA_DIR")
    program = ROOT / "examples" / "custom_op" / "softmax_custom.py"
    options = ("--dataset", "mnist", "--epochs", 1)
    done = scripts.run(program, *options, cwd=tmp_path, CYNET_DATA_DIR=str(mnist_dir))
    assert done.returncode == 0 and accuracy(done.stdout) >= 93, done.stderr
