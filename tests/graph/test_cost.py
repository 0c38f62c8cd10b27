"""Arithmetic of steps, counted by hand."""

import pytest

import cynet as mx
from cynet.graph.compile import lower
from cynet.graph.cost import flops, seconds
from cynet.graph.ir import BACKWARD

X = mx.sym.var("x")


def _steps(net, **shapes):
    requests = dict.fromkeys(net.list_arguments(), "write")
    return lower(net.entries, mx.cpu(), shapes, {}, requests).steps


@pytest.mark.parametrize(
    "net, shape, forward",
    [
        (mx.sym.FullyConnected(X, num_hidden=7), (3, 5), 2 * 3 * 5 * 7),
        (
            mx.sym.Convolution(X, kernel=(3, 2), num_filter=8, num_group=2, pad=(1, 0)),
            (2, 4, 6, 5),
            2 * (2 * 8 * 6 * 4) * (2 * 3 * 2),
        ),
        (
            mx.sym.Deconvolution(X, kernel=(3, 3), num_filter=8, stride=(2, 2)),
            (2, 4, 6, 5),
            2 * (2 * 4 * 6 * 5) * (8 * 3 * 3),
        ),
        (mx.sym.dot(X, mx.sym.var("w", shape=(5, 7))), (3, 5), 2 * 3 * 5 * 7),
        (mx.sym.batch_dot(X, mx.sym.var("w", shape=(4, 5, 7))), (4, 3, 5), 4 * 2 * 3 * 5 * 7),
        (mx.sym.tanh(X), (3, 5), 0),
    ],
)
def test_operations(net, shape, forward, monkeypatch):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "-layout")  # a reorder would come first
    steps = _steps(net, x=shape)
    assert flops(steps[0]) == forward
    assert sum(flops(step) for step in steps if step.direction == BACKWARD) == 2 * forward


def test_gradients_that_are_not_asked_for_cost_nothing():
    net = mx.sym.FullyConnected(X, num_hidden=7)
    weight = next(n for n in net.list_arguments() if n.endswith("weight"))
    steps = lower(net.entries, mx.cpu(), {"x": (3, 5)}, {}, {weight: "write"}).steps
    assert flops(steps[-1]) == 2 * 3 * 5 * 7


def test_bytes_count_where_there_is_no_arithmetic():
    small, large = (_steps(mx.sym.tanh(X), x=(n, 10))[0] for n in (10, 1000))
    assert seconds(large) == pytest.approx(100 * seconds(small))
