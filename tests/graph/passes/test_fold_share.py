"""Constant folding and common subexpressions: fewer steps, the same results."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError
from cynet.graph import pipeline


def _bind(net, monkeypatch, chosen, **shapes):
    monkeypatch.setenv("CYNET_GRAPH_PASSES", chosen)
    return net.simple_bind(mx.cpu(), **shapes)


def _steps(executor):
    return [step.prop.op_name for step in executor._graph.steps[: executor._graph.n_forward]]


def _run(executor, rng):
    for array in executor.arg_arrays:
        array[:] = rng.uniform(0.5, 2, array.shape)
    mx.random.seed(7)
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones(out.shape) for out in executor.outputs])
    grads = [g.asnumpy() for g in executor.grad_arrays if g is not None]
    return [out.asnumpy() for out in executor.outputs] + grads


def _same(net, monkeypatch, seed, names, **shapes):
    """Bind with and without the passes; results must agree. Returns the executor with them."""
    runs = {}
    for chosen in ("none", names):
        executor = _bind(net, monkeypatch, chosen, **shapes)
        runs[chosen] = _run(executor, np.random.default_rng(seed))
    for got, want in zip(runs[names], runs["none"]):
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-7)
    return executor


def test_what_depends_on_no_argument_is_computed_once(monkeypatch, seed):
    position = mx.sym.sin(mx.sym.reshape(mx.sym.arange(12), shape=(3, 4)) * 2)
    net = mx.sym.broadcast_mul(mx.sym.var("x"), mx.sym.expand_dims(position, axis=0))
    executor = _same(net, monkeypatch, seed, "fold", x=(2, 3, 4))
    assert _steps(executor) == ["broadcast_mul"]
    assert len(executor._graph.constant_steps) == 5


def test_large_constants_are_not_kept(monkeypatch, seed):
    wide = mx.sym.broadcast_to(mx.sym.ones((1, 700)) * 3, shape=(600, 700))
    executor = _same(mx.sym.var("x") + wide, monkeypatch, seed, "fold", x=(600, 700))
    assert _steps(executor) == ["broadcast_to", "elemwise_add"]
    assert [s.prop.op_name for s in executor._graph.constant_steps] == ["_ones", "_mul_scalar"]


def test_a_constant_that_is_an_output_is_written_in_each_run(monkeypatch):
    executor = _bind(
        mx.sym.Group([mx.sym.ones((2,)) * 4, mx.sym.var("x") + 1]), monkeypatch, "all", x=(2,)
    )
    executor.outputs[0][:] = 0
    executor.forward()
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), 4)


def test_random_numbers_are_not_folded_nor_merged(monkeypatch):
    net = mx.sym.Group([mx.sym.random.uniform(shape=(50,)) * 1 for _ in range(2)])
    executor = _bind(net, monkeypatch, "all")
    first, second = (out.asnumpy() for out in executor.forward())
    assert (first != second).any()
    assert (executor.forward()[0].asnumpy() != first).any()


def test_what_is_computed_twice_is_computed_once(monkeypatch, seed):
    x, w = mx.sym.var("x"), mx.sym.var("w")
    parts = [mx.sym.tanh(mx.sym.FullyConnected(x, w, num_hidden=3, no_bias=True)) for _ in "ab"]
    other = mx.sym.tanh(mx.sym.FullyConnected(x, w, num_hidden=3, no_bias=True, flatten=False))
    net = parts[0] * mx.sym.exp(parts[1]) + other
    executor = _same(net, monkeypatch, seed, "share", x=(4, 5), w=(3, 5))
    assert _steps(executor).count("FullyConnected") == 2
    assert _steps(executor).count("tanh") == 2


def test_losses_states_and_outputs_are_not_merged(monkeypatch, seed):
    x, label = mx.sym.var("x"), mx.sym.var("label")
    losses = [mx.sym.SoftmaxOutput(x, label) for _ in "ab"]
    gamma, beta, mean, var = (mx.sym.var(n) for n in ("gamma", "beta", "mean", "var"))
    norms = [mx.sym.BatchNorm(x, gamma, beta, mean, var) for _ in "ab"]
    drops = [mx.sym.Dropout(x) for _ in "ab"]
    net = mx.sym.Group([sum(p * 1 for p in losses), sum(norms), sum(drops), x * 2, x * 2])
    executor = _same(net, monkeypatch, seed, "share", x=(4, 5), label=(4,))
    for name in ("SoftmaxOutput", "BatchNorm", "Dropout"):
        assert _steps(executor).count(name) == 2
    executor.outputs[3][:] = 9
    assert (executor.outputs[4].asnumpy() != 9).any()


def test_operators_of_users_are_neither_folded_nor_merged(monkeypatch):
    calls = []

    class Counting(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            calls.append(1)
            self.assign(out_data[0], req[0], in_data[0] + len(calls))

    @mx.operator.register("counting_of_fold")
    class CountingProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Counting()

    one = mx.sym.ones((2,))
    parts = [mx.sym.Custom(one, op_type="counting_of_fold") for _ in "ab"]
    executor = _bind(mx.sym.Group([p * 1 for p in parts]), monkeypatch, "all")
    for _ in range(2):
        executor.forward()
        mx.nd.waitall()
    assert len(calls) == 4


def test_a_watched_executor_computes_every_node(monkeypatch):
    net = (mx.sym.ones((2,), name="one") * 2 + mx.sym.var("x")) * 3
    executor = _bind(net, monkeypatch, "all", x=(2,))
    seen = {}
    executor.set_monitor_callback(lambda name, value: seen.setdefault(name, value.asnumpy()))
    executor.forward()
    assert len(seen) == 4
    np.testing.assert_array_equal(executor.outputs[0].asnumpy(), 6)


@pytest.mark.parametrize("chosen", ["fold,share", "none"])
def test_gradients_of_arguments_nothing_flows_into(monkeypatch, chosen):
    x = mx.sym.var("x")
    executor = _bind(mx.sym.zeros_like(x) + 1, monkeypatch, chosen, x=(3,))
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((3,))])
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), 0)


@pytest.mark.parametrize(
    "text, off",
    [
        ("all", set()),
        ("-share", {"share"}),
        ("none, fold", pipeline.PASS_NAMES - {"fold"}),
        ("all,-fold,-reuse", {"fold", "reuse"}),
    ],
)
def test_the_setting_is_read_from_left_to_right(text, off):
    assert pipeline.PASS_NAMES - pipeline.enabled_passes(text) == off


def test_an_unknown_pass_is_refused(monkeypatch):
    with pytest.raises(ArgumentError, match="there is no pass 'flod'; expected all, none, or of"):
        _bind(mx.sym.var("x") + 1, monkeypatch, "-flod", x=(2,))


def test_memory_is_not_shared_when_switched_off(monkeypatch, seed):
    net = mx.sym.var("x")
    for _ in range(5):
        net = mx.sym.tanh(net)
    executor = _same(net, monkeypatch, seed, "inplace", x=(64,))
    assert executor._graph.memory.planned < executor._graph.memory.unplanned
    executor = _bind(net, monkeypatch, "-inplace,-reuse", x=(64,))
    assert executor._graph.memory.planned == executor._graph.memory.unplanned
