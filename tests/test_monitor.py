"""Monitor: what is collected, when, and how it is shown."""

import numpy as np
import pytest

import cynet as mx
from cynet.errors import ArgumentError


@pytest.fixture
def executor():
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc1")
    net = mx.sym.FullyConnected(net, num_hidden=2, name="fc2")
    made = net.simple_bind(mx.cpu(), data=(2, 2))
    for array in made.arg_arrays:
        array[:] = 1
    return made


def test_interval_and_pattern(executor):
    monitor = mx.mon.Monitor(2, pattern="fc.*(weight|output)", sort=True)
    monitor.install(executor)
    seen = []
    for _ in range(3):
        monitor.tic()
        executor.forward()
        seen.append(monitor.toc())
    names = [name for _, name, _ in seen[0]]
    assert names == ["fc1_output", "fc1_weight", "fc2_output", "fc2_weight"]
    assert seen[1] == [] and len(seen[2]) == 4
    assert {name: float(text) for _, name, text in seen[0]} == pytest.approx(
        {"fc1_output": 3, "fc1_weight": 1, "fc2_output": 7, "fc2_weight": 1}
    )


def test_a_users_statistic(executor):
    monitor = mx.mon.Monitor(1, stat_func=lambda array: [array.sum(), 5], pattern="fc1_output")
    monitor.install(executor)
    monitor.tic()
    executor.forward()
    ((step, name, text),) = monitor.toc()
    assert (step, name) == (1, "fc1_output") and [float(x) for x in text.split()] == [12, 5]
    assert monitor.toc() == []


def test_inputs_too(executor):
    monitor = mx.mon.Monitor(1, pattern="fc2_(data|weight)$", monitor_all=True)
    monitor.install(executor)
    monitor.tic()
    executor.forward()
    assert {"fc2_data", "fc2_weight"} <= {name for _, name, _ in monitor.toc()}
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), 7)


def test_refused():
    with pytest.raises(ArgumentError, match="interval"):
        mx.mon.Monitor(0)
