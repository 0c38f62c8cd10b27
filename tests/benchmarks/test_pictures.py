"""benchmarks/pictures.py: pictures of tiny networks, and the figures they show."""

import importlib
import sys
from pathlib import Path

import pytest

import cynet as mx

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def pictures():
    pytest.importorskip("matplotlib")
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module("pictures")
    finally:
        sys.path.remove(str(BENCHMARKS))


@pytest.fixture
def network():
    net = mx.sym.Variable("data")
    for i in range(6):
        net = mx.sym.Convolution(net, num_filter=4, kernel=(3, 3), pad=(1, 1), name=f"c{i}")
        net = mx.sym.Activation(net, act_type="relu")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=3), name="softmax")


def test_living_bytes_reach_what_the_plan_says(pictures, network, tmp_path):
    for mirror in (False, True):
        lives, n_forward, report = pictures.live_bytes(network, (2, 3, 8, 8), mirror)
        assert max(lives) == report.live > 0
        assert 0 < n_forward < len(lives)
    figure = pictures.draw_lives(network, (2, 3, 8, 8))
    figure.savefig(tmp_path / "memory.png")
    assert (tmp_path / "memory.png").stat().st_size > 5000


def test_times_of_a_step(pictures, network):
    times, operations = pictures.step_times(network, 2, (3, 8, 8), n=2)
    assert operations > 0
    assert {("forward", "convolution"), ("backward", "convolution"), ("update", "update")} <= set(
        times
    )
    assert times["forward", "convolution"] > 0
    figure = pictures.draw_times([("tiny", times, operations)], 1e11)
    widths = [p.get_width() for p in figure.axes[0].patches]
    assert sum(widths) == pytest.approx(100)


def test_spans_of_a_fit(pictures, network):
    spans = pictures.record_fit(network, 2, (3, 8, 8), batches=6)
    assert {lane for lane, *_ in spans} == {"main thread", "prefetch"}
    assert sum(what == "make a batch" for _, what, *_ in spans) >= 6
    assert all(begin <= end for *_, begin, end in spans)
    pictures.draw_spans(spans)
