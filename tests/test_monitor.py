"""Monitor: what is collected, when, and how it is shown."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError


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


def gradients(net, shape, **options):
    """What a callback sees in one backward, by name."""
    made = net.simple_bind(mx.cpu(), data=shape, **options)
    for name, array in made.arg_dict.items():
        array[:] = np.random.RandomState(len(name)).uniform(-1, 1, array.shape)
    seen = {}
    made.set_monitor_callback(lambda name, array: seen.update({name: array.asnumpy()}))
    made.forward(is_train=True)
    seen.clear()
    made.backward([mx.nd.ones(output.shape) for output in made.outputs])
    return seen, made


def test_gradients_have_the_names_of_mxnet():
    """``_output`` where an operator has one input, ``_output0``, ... where it has several."""
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc1")
    net = mx.sym.Activation(net, act_type="relu", name="act")
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=2, name="fc2"), name="softmax")
    several = [f"{n}_backward_output{i}" for n in ("fc1", "fc2") for i in range(3)]
    for options in ({}, {"grad_req": {"fc1_weight": "write"}}):
        seen, made = gradients(net, (4, 5), **options)
        assert {*several, "act_backward_output"} <= set(seen)
        np.testing.assert_array_equal(
            seen["fc1_backward_output1"], made.grad_dict["fc1_weight"].asnumpy()
        )
    weight = made.arg_dict["fc1_weight"].asnumpy()
    into_fc1 = seen["act_backward_output"]
    np.testing.assert_allclose(  # the gradient of the data, which nobody asked for
        seen["fc1_backward_output0"], into_fc1 @ weight, rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_each_operators_own_part_of_a_gradient(grad_req):
    """A value with two readers: each part is seen before it is summed."""
    data = mx.sym.var("data")
    once = mx.sym.square(data, name="once")
    net = mx.sym.Group([once, mx.sym.broadcast_mul(once, data, name="cube")])
    seen, made = gradients(net, (2, 3), grad_req=grad_req)
    x = made.arg_dict["data"].asnumpy()
    np.testing.assert_allclose(seen["cube_backward_output0"], x, rtol=1e-5)
    np.testing.assert_allclose(seen["cube_backward_output1"], x * x, rtol=1e-5)
    np.testing.assert_allclose(seen["once_backward_output"], 2 * x * (1 + x), rtol=1e-4, atol=1e-6)
    whole = 2 * x + 3 * x * x
    for times in (1, 2):
        total = whole * (times if grad_req == "add" else 1)
        np.testing.assert_allclose(made.grad_dict["data"].asnumpy(), total, rtol=1e-4, atol=1e-6)
        if times == 1:
            made.backward([mx.nd.ones((2, 3))] * 2)


def test_refused():
    with pytest.raises(ArgumentError, match="interval"):
        mx.mon.Monitor(0)
