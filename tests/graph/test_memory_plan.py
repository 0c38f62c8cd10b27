"""The memory plan of whole networks: no row above MXNet's, near to the least possible, quickly
found."""

import time
from copy import copy

import numpy as np
import pytest

import cynet as mx
from benchmarks.memory import MXNET, cynet_memory
from cynet.graph.compile import memory_of


@pytest.fixture(autouse=True)
def _all_passes(monkeypatch):
    """The plans looked at here are those with every pass, whatever the environment says."""
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "all")
    monkeypatch.delenv("CYNET_BACKWARD_DO_MIRROR", raising=False)


@pytest.mark.parametrize("name, mode", MXNET)
def test_no_larger_than_in_mxnet(name, mode):
    start = time.process_time()
    report = cynet_memory(name, mode)
    seconds = time.process_time() - start
    print(f"{name}, {mode}: {report}, {seconds:.2f} s")
    assert report.live <= report.planned <= 1.12 * report.live
    assert report.planned <= MXNET[name, mode][1] * 2**20
    assert report.planned < report.unplanned
    assert seconds < 3


def test_the_least_is_what_lives_at_one_step(monkeypatch):
    """exp's backward needs its output: three of them live when the forward half ends."""
    net = mx.sym.var("x")
    for _ in range(4):
        net = mx.sym.exp(net)
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "-chain")
    report = memory_of(net, mx.cpu(), x=(16, 16))
    assert report.live == report.planned == 4 * 1024  # three outputs and the first gradient
    assert report.unplanned == 6 * 1024
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "all")
    report = memory_of(net, mx.cpu(), x=(16, 16))  # gradients have no memory inside a chain
    assert report.live == report.planned == report.unplanned == 3 * 1024


def test_executors_have_the_plan_that_is_reported():
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=500), name="s")
    text = net.simple_bind(mx.cpu(), data=(2048, 20)).debug_str()
    report = memory_of(net, mx.cpu(), data=(2048, 20))
    assert f"Total {report.planned >> 20} MB allocated\n" in text
    assert f"Total {report.unplanned >> 20} MB without in-place and sharing\n" in text
    assert report.planned >> 20 > 0


def _residual(units):
    net = mx.sym.var("x")
    for i in range(units):
        net = net + mx.sym.tanh(mx.sym.tanh(net, name=f"a{i}"), name=f"b{i}")
    return net


def test_the_gradient_of_a_sum_is_not_copied(monkeypatch, rng):
    """Both terms see the sum's gradient where it lies: the branch reads it before the other term's
    part is added there."""
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "-chain")
    executor = _residual(3).simple_bind(mx.cpu(), x=(4, 5))
    backward = executor._graph.steps[executor._graph.n_forward :]
    written = [s.prop.op_name for s in backward for _ in s.written()]
    assert written.count("elemwise_add") == 2  # from and into the user's arrays
    x = rng.standard_normal((4, 5))
    executor.arg_dict["x"][:] = x
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((4, 5))])
    values, slope = x, 1
    for _ in range(3):
        inner = np.tanh(values)
        outer = np.tanh(inner)
        slope = slope * (1 + (1 - outer**2) * (1 - inner**2))
        values = values + outer
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), slope, rtol=1e-5)


def test_a_sum_of_what_is_used_later_keeps_its_copy(rng):
    """x + y, where both terms get more gradient afterwards, in every order."""
    x, y = (mx.sym.tanh(mx.sym.var(name)) for name in "xy")
    net = mx.sym.Group([x * y, (x + y) * 2, mx.sym.add_n(x, y, x) * 3])
    executor = net.simple_bind(mx.cpu(), x=(3,), y=(3,))
    values = {name: rng.standard_normal(3) for name in "xy"}
    for name, value in values.items():
        executor.arg_dict[name][:] = value
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(3)] * 3)
    tx, ty = np.tanh(values["x"]), np.tanh(values["y"])
    want = {"x": (ty + 2 + 6) * (1 - tx**2), "y": (tx + 2 + 3) * (1 - ty**2)}
    for name in "xy":
        got = executor.grad_dict[name].asnumpy()
        np.testing.assert_allclose(got, want[name], rtol=1e-5, atol=2e-6)  # 1 - tanh^2 cancels


@pytest.mark.parametrize("copied", ["identity", "BlockGrad"])
def test_what_only_hands_its_input_on_is_not_copied(copied, rng):
    """Of an argument and of a temporary value; BlockGrad's gradient is zero all the same."""
    x, y = mx.sym.var("x"), mx.sym.tanh(mx.sym.var("y"))
    same = getattr(mx.sym, copied)
    net = mx.sym.sum(same(x) * x) + mx.sym.sum(mx.sym.exp(same(y)) * y)
    executor = net.simple_bind(mx.cpu(), x=(3, 4), y=(5,))
    names = [step.prop.op_name for step in executor._graph.steps[: executor._graph.n_forward]]
    assert "_copy" not in names and "BlockGrad" not in names
    values = {"x": rng.standard_normal((3, 4)), "y": rng.standard_normal(5)}
    for name, value in values.items():
        executor.arg_dict[name][:] = value
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((1,))])
    x, t = values["x"], np.tanh(values["y"])
    assert abs(executor.outputs[0].asscalar() - (x * x).sum() - (np.exp(t) * t).sum()) < 1e-4
    flows = copied == "identity"
    want = {"x": x * (1 + flows), "y": np.exp(t) * (1 + flows * t) * (1 - t**2)}
    for name in "xy":
        np.testing.assert_allclose(executor.grad_dict[name].asnumpy(), want[name], 1e-5, 1e-6)


@pytest.mark.parametrize("head", ["LinearRegressionOutput", "SoftmaxOutput", "BlockGrad"])
def test_what_becomes_an_output_is_made_in_its_array(head, monkeypatch, rng):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=6, name="f")
    net = getattr(mx.sym, head)(net, name="head")
    executors = []
    for passes in ("all", "-inplace"):
        monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
        executors.append(net.simple_bind(mx.cpu(), data=(8, 5)))
    values = {name: rng.standard_normal(a.shape) for name, a in executors[0].arg_dict.items()}
    if "head_label" in values:
        values["head_label"] = np.ones_like(values["head_label"])
    seen = []
    for executor in executors:
        for name, value in values.items():
            executor.arg_dict[name][:] = value
        for _ in range(2):  # the second run begins with what the first has left there
            executor.forward(is_train=True)
            executor.backward()
        grads = [g.asnumpy() for g in executor.grad_arrays if g is not None]
        seen.append([executor.outputs[0].asnumpy(), *grads])
    for ours, theirs in zip(*seen):
        np.testing.assert_array_equal(ours, theirs)
    graph = executors[0]._graph
    assert graph.steps[0].out_data[0].root is graph.outputs[0]
    graph = executors[1]._graph
    assert graph.steps[0].out_data[0].root is not graph.outputs[0]


def test_what_backward_reads_is_not_in_the_array_of_an_output(rng):
    """Changing an output between forward and backward changes no gradient of an activation."""
    executor = mx.sym.MakeLoss(mx.sym.tanh(mx.sym.var("x"))).simple_bind(mx.cpu(), x=(4, 5))
    x = rng.standard_normal((4, 5))
    executor.arg_dict["x"][:] = x
    executor.forward(is_train=True)
    executor.outputs[0][:] = 7
    executor.backward()
    np.testing.assert_allclose(
        executor.grad_dict["x"].asnumpy(), 1 - np.tanh(x) ** 2, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("null", ["lhs", "rhs"])
def test_a_gradient_that_nobody_wants_is_not_written(null):
    """Of a step with two gradients the one whose request is null has no place among those."""
    net = mx.sym.broadcast_mul(mx.sym.var("lhs"), mx.sym.var("rhs"))
    req = {"lhs": "write", "rhs": "write", null: "null"}
    executor = net.simple_bind(mx.cpu(), grad_req=req, lhs=(4, 3), rhs=(4, 3))
    backward = [s for s in executor._graph.steps if s.direction == "backward"]
    (places,) = [[i for i, _ in s.written()] for s in backward if len(s.in_data) == 2]
    assert places == [0 if null == "rhs" else 1]
    (step,) = [s for s in backward if len(s.in_data) == 2]
    made = copy(step)
    made.req, made.in_grad = [0, 0], [step.in_data[0], step.in_data[1]]
    assert made.written() == []
    made.req = [0, 3]
    assert made.written() == [(1, step.in_data[1])]
    assert step.in_data[1] in made.read()
