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


def test_nothing_is_kept_of_values_between_collections():
    """What is handed in where no collection is due, or under another name, is not kept."""
    seen = []
    monitor = mx.mon.Monitor(2, stat_func=lambda array: seen.append(array) or array, pattern="a")
    for _ in range(4):
        monitor.stat_helper("a", mx.nd.ones(1))
        monitor.tic()
        monitor.stat_helper("a", mx.nd.ones(1))
        monitor.stat_helper("b", mx.nd.ones(1))
        monitor.toc()
        monitor.stat_helper("a", mx.nd.ones(1))
    assert len(seen) == 2 and not monitor.queue


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


def test_gradients_of_parameters(executor):
    made = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc").simple_bind(
        mx.cpu(), data=(1, 3), grad_req={"fc_weight": "write", "fc_bias": "null", "data": "null"}
    )
    monitor = mx.mon.Monitor(1, stat_func=lambda a: a.sum(), pattern=".*_grad", gradients=True)
    monitor.install(made)
    monitor.tic()
    made.forward(True, data=mx.nd.array([[1, 2, 3]]))
    made.backward(mx.nd.ones((1, 2)))
    assert [(name, float(text)) for _, name, text in monitor.toc()] == [("fc_weight_grad", 12)]


@pytest.mark.parametrize("hybrid", [False, True])
def test_blocks_of_gluon(hybrid):
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(4, in_units=3), mx.gluon.nn.Dense(2, in_units=4))
    net.initialize(mx.init.One())
    if hybrid:
        net.hybridize()
    monitor = mx.mon.Monitor(
        2, stat_func=lambda a: a.max(), pattern="net_dense", monitor_all=True, gradients=True
    )
    monitor.install(net)
    monitor.install(net)  # once more changes nothing
    seen = []
    for _ in range(3):
        monitor.tic()
        with mx.autograd.record():
            y = net(mx.nd.ones((1, 3)))
        y.backward()
        seen.append({name: float(text) for _, name, text in monitor.toc()})
    assert seen[1] == {} and seen[0] == seen[2]
    wanted = {
        "net_dense0_weight": 1,
        "net_dense0_bias": 0,
        "net_dense1_weight": 1,
        "net_dense1_bias": 0,
        "net_dense0_weight_grad": 2,
        "net_dense0_bias_grad": 2,
        "net_dense1_weight_grad": 3,
        "net_dense1_bias_grad": 1,
        "net_dense0_input": 1,
        "net_dense0_output": 3,
        "net_dense1_input": 3,
        "net_dense1_output": 12,
    }
    assert seen[0] == wanted


def test_buckets_that_come_later():
    def bucket(key):
        net = mx.sym.FullyConnected(mx.sym.sum(mx.sym.var("data"), axis=1), num_hidden=2, name="fc")
        return mx.sym.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]

    module = mx.mod.BucketingModule(bucket, 4)
    module.bind([("data", (2, 4, 3))], [("softmax_label", (2,))])
    module.init_params(mx.init.One())
    module.init_optimizer()
    monitor = mx.mon.Monitor(1, pattern="fc_(output|weight_grad)", gradients=True)
    module.install_monitor(monitor)
    for length in (4, 2):
        monitor.tic()
        data, label = mx.nd.ones((2, length, 3)), mx.nd.zeros(2)
        batch = mx.io.DataBatch([data], [label], bucket_key=length)
        batch.provide_data = [("data", data.shape)]
        batch.provide_label = [("softmax_label", label.shape)]
        module.forward_backward(batch)
        names = {name for _, name, _ in monitor.toc()}
        assert names == {"fc_output", "fc_weight_grad"}


def test_what_can_be_watched():
    with pytest.raises(TypeError, match="takes an Executor or a Block, got 3"):
        mx.mon.Monitor(1).install(3)


@pytest.mark.parametrize("everything", [False, True])
@pytest.mark.parametrize("stype", ["default", "csr"])
def test_an_executor_of_another_shape_is_watched(stype, everything):
    """Whoever watches an executor sees what `reshape` makes of it, as in MXNet."""
    net = mx.sym.dot(mx.sym.var("data", stype=stype), mx.sym.var("weight"), name="product")
    made = net.simple_bind(mx.cpu(), data=(2, 5), weight=(5, 3), grad_req="null")
    seen = {}
    made.set_monitor_callback(lambda name, x: seen.update({name: x.shape}), everything)
    larger = made.reshape(data=(4, 5), weight=(5, 3), allow_up_sizing=True)
    larger.forward()
    assert seen["product_output"] == (4, 3)
    assert len(seen) == (3 if everything else 1)
    made.set_monitor_callback(None)  # the other one's stays
    seen.clear()
    made.forward()
    assert not seen
    larger.forward()
    assert seen
