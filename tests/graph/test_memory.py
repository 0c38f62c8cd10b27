"""The memory plan of whole networks: no row above MXNet's, near to the least possible, quickly
found."""

import time

import pytest

import cynet as mx
from benchmarks.memory import MXNET, cynet_memory
from cynet.graph.lower import memory_of


@pytest.mark.parametrize("name, mode", MXNET)
def test_no_larger_than_in_mxnet(name, mode):
    start = time.process_time()
    report = cynet_memory(name, mode)
    seconds = time.process_time() - start
    print(f"{name}, {mode}: {report}, {seconds:.2f} s")
    assert report.live <= report.planned <= 1.02 * report.live
    assert report.planned <= MXNET[name, mode][1] * 2**20
    assert report.planned < report.unplanned
    assert seconds < 3


def test_the_least_is_what_lives_at_one_step():
    """exp's backward needs its output: three of them live when the forward half ends."""
    net = mx.sym.var("x")
    for _ in range(4):
        net = mx.sym.exp(net)
    report = memory_of(net, mx.cpu(), x=(16, 16))
    assert report.live == report.planned == 4 * 1024  # three outputs and the first gradient
    assert report.unplanned == 6 * 1024


def test_executors_have_the_plan_that_is_reported():
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=500), name="s")
    text = net.simple_bind(mx.cpu(), data=(2048, 20)).debug_str()
    report = memory_of(net, mx.cpu(), data=(2048, 20))
    assert f"Total {report.planned >> 20} MB allocated\n" in text
    assert f"Total {report.unplanned >> 20} MB without in-place and sharing\n" in text
    assert report.planned >> 20 > 0
