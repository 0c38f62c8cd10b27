"""The time to bind grows with the nodes of a graph, not with their square."""

import time

import pytest

import cynet as mx
from benchmarks.bind import KINDS

SIZES = {  # nodes of the smaller graph
    "split convolutions": 128,
    "Xception, a convolution a channel": 265,
    "chain of elementwise operators": 350,
    "sum of variables": 400,
    "wide network": 450,
    "embeddings": 350,
    "LSTM written out": 300,
}


def seconds(kind, n, grad_req):
    """The times of three bindings of a graph of `n` nodes, one by one."""
    net, shapes = KINDS[kind][0](mx, n)
    for _ in range(3):
        start = time.process_time()
        net.simple_bind(mx.cpu(), grad_req=grad_req, **shapes)
        yield time.process_time() - start


@pytest.mark.parametrize("grad_req", ["write", "null"])
@pytest.mark.parametrize("kind", KINDS)
def test_four_times_the_nodes(kind, grad_req):
    small = min(seconds(kind, SIZES[kind], grad_req))
    found = []
    for large in seconds(kind, 4 * SIZES[kind], grad_req):
        found.append(large)
        if large < 8 * small:  # 16 where time grows with the square
            return
    pytest.fail(f"{small:.3f} s, {found} s")
