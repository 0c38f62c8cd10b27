"""Gradient checkpointing: less memory, the same bytes in every gradient and state."""

import itertools

import numpy as np
import pytest

import cynet as mx
from benchmarks.memory import DATA, network
from cynet.base import config
from cynet.base.errors import ArgumentError
from cynet.graph import pipeline
from cynet.graph.compile import lower
from cynet.graph.cost import flops, seconds
from cynet.graph.ir import BACKWARD, FORWARD
from cynet.graph.memory_plan import plan_memory
from cynet.graph.passes import recompute
from tests.fixtures.image_networks import CASES, draw
from tests.fixtures.image_networks import network as small_network
from tests.graph.interpreter import run
from tests.graph.test_pipeline import _arrays, _graph, _random_graph


@pytest.fixture(autouse=True)
def _all_passes(monkeypatch):
    """The plans looked at here are those with every pass, whatever the environment says."""
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "all")
    monkeypatch.delenv("CYNET_BACKWARD_DO_MIRROR", raising=False)


def _train(net, shapes, steps=2):
    """Gradients, outputs and states after some steps, and the executor."""
    executor = net.simple_bind(mx.cpu(), **shapes)
    for key, array in [*executor.arg_dict.items(), *executor.aux_dict.items()]:
        array[:] = mx.nd.array(draw(key, array.shape))
    mx.random.seed(5)
    for _ in range(steps):
        executor.forward(is_train=True)
        heads = [None if h is None else mx.nd.ones(h.shape) for h in executor._heads]
        executor.backward(heads)
    arrays = {**executor.grad_dict, **executor.aux_dict, **executor.output_dict}
    return {k: v.asnumpy() for k, v in arrays.items() if v is not None}, executor


def _compare(monkeypatch, net, **shapes):
    """Train with and without; returns both executors."""
    plain, before = _train(net, shapes)
    monkeypatch.setenv("CYNET_BACKWARD_DO_MIRROR", "1")
    mirrored, after = _train(net, shapes)
    monkeypatch.delenv("CYNET_BACKWARD_DO_MIRROR")
    for name, want in plain.items():
        np.testing.assert_array_equal(mirrored[name], want, err_msg=name)
    return before, after


def _repeated(executor):
    """Names of the nodes that run again."""
    steps = executor._graph.steps[executor._graph.n_forward :]
    steps = [each for step in steps for each in step.members or (step,)]
    return [step.name for step in steps if step.direction == FORWARD and step.out_data]


@pytest.mark.parametrize(
    "name", ["VGG-11 with batch norm", "ResNet-20", "Inception-BN, small", "LSTM", "GoogLeNet"]
)
def test_the_same_bytes_in_less_memory(monkeypatch, name):
    before, after = _compare(monkeypatch, small_network(mx, name), data=CASES[name][2])
    assert after._graph.memory.planned < 0.85 * before._graph.memory.planned
    assert _repeated(after)


@pytest.mark.parametrize("name, least", [("VGG-16", 0.6), ("ResNet-50", 0.6), ("GoogLeNet", 0.6)])
def test_plans_for_imagenet(monkeypatch, name, least):
    """At most 0.6 of the memory for at most 1.33 of the estimated time."""
    symbol, reports, times = network(mx, name), {}, {}
    requests = dict.fromkeys(symbol.list_arguments(), "write")
    for on in "01":
        monkeypatch.setenv("CYNET_BACKWARD_DO_MIRROR", on)
        graph = lower(symbol.entries, mx.cpu(), {"data": DATA}, {}, requests)
        times[on] = sum(map(seconds, graph.steps)), sum(map(flops, graph.steps))
        reports[on] = plan_memory(graph).memory
    print(name, reports, times)
    assert reports["1"].planned <= least * reports["0"].planned
    assert times["1"][0] <= 1.33 * times["0"][0]
    assert times["0"][1] <= times["1"][1] <= 1.33 * times["0"][1]


@pytest.mark.parametrize("case", range(30))
def test_random_graphs(monkeypatch, rng, case):
    """As much as can be repeated: every value still is what it was."""
    monkeypatch.setattr(recompute, "TARGET_SHARE", 0.0)
    monkeypatch.setattr(recompute, "MAX_TIME_SHARE", 100.0)
    monkeypatch.setattr(recompute, "MAX_IDLE_ROUNDS", 8)
    monkeypatch.setattr(recompute, "SHARE_PER_STEP", 0.0)
    heads, given = _random_graph(rng, 8 + 2 * case)
    graph = _graph(heads, given, dict.fromkeys(given, ("write", "add")[case % 2]))
    arrays = _arrays(graph, rng)
    expected = run(graph, arrays, isolated=True)
    monkeypatch.setenv("MXNET_BACKWARD_DO_MIRROR", "1")
    graph = plan_memory(recompute.recompute_values(graph))
    outputs, grads = run(graph, arrays)
    for got, want in itertools.chain(
        zip(outputs, expected[0]), ((grads[k], expected[1][k]) for k in expected[1])
    ):
        np.testing.assert_array_equal(got, want)


def test_a_wrong_value_names_the_variable_that_was_set(monkeypatch):
    monkeypatch.setenv("MXNET_BACKWARD_DO_MIRROR", "perhaps")
    with pytest.raises(ArgumentError, match="MXNET_BACKWARD_DO_MIRROR='perhaps': expected 0, 1"):
        config.get("CYNET_BACKWARD_DO_MIRROR")


def _chain(length, layer):
    net = mx.sym.var("data")
    for i in range(length):
        net = layer(net, i)
    return net


def test_a_chain_takes_the_root_of_its_length():
    """64 equal layers: far less than half, with each layer run about once more."""
    net = _chain(64, lambda net, i: mx.sym.FullyConnected(net, num_hidden=64, name=f"fc{i}"))
    net = mx.sym.make_loss(mx.sym.sum(net))
    requests = dict.fromkeys(net.list_arguments(), "write")
    graph = lower(net.entries, mx.cpu(), {"data": (4096, 64)}, {}, requests)
    plain = plan_memory(graph).memory.planned
    graph = lower(net.entries, mx.cpu(), {"data": (4096, 64)}, {}, requests, names=())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CYNET_BACKWARD_DO_MIRROR", "1")
        patch.setattr(recompute, "TARGET_SHARE", 0.0)
        patch.setattr(recompute, "MAX_TIME_SHARE", 0.34)
        graph = plan_memory(recompute.recompute_values(graph))
    assert graph.memory.planned <= 0.4 * plain
    again = [s for s in graph.steps[graph.n_forward :] if s.direction == FORWARD]
    assert len(again) <= 66


def test_dropout_keeps_its_mask(monkeypatch):
    def layer(net, i):
        net = mx.sym.FullyConnected(net, num_hidden=32, name=f"fc{i}")
        return mx.sym.Dropout(mx.sym.tanh(net, name=f"tanh{i}"), name=f"drop{i}")

    _, after = _compare(monkeypatch, _chain(8, layer), data=(64, 32))
    assert not [name for name in _repeated(after) if name.startswith("drop")]


def test_states_are_moved_once(monkeypatch):
    def layer(net, i):
        net = mx.sym.FullyConnected(net, num_hidden=16, name=f"fc{i}")
        return mx.sym.relu(mx.sym.BatchNorm(net, momentum=0.5, name=f"bn{i}"), name=f"relu{i}")

    monkeypatch.setattr(recompute, "TARGET_SHARE", 0.0)
    _, after = _compare(monkeypatch, _chain(8, layer), data=(128, 16))
    assert [name for name in _repeated(after) if name.startswith("bn")]


def test_operators_of_users_run_once(monkeypatch):
    calls = []

    class Twice(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            calls.append(1)
            self.assign(out_data[0], req[0], in_data[0] * 2)

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            self.assign(in_grad[0], req[0], out_grad[0] * 2)

    @mx.operator.register("twice_of_mirror")
    class TwiceProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, in_shapes, in_dtypes):
            return Twice()

    def layer(net, i):
        net = mx.sym.Custom(mx.sym.tanh(net), op_type="twice_of_mirror")
        return mx.sym.tanh(net, name=f"tanh{i}")

    _compare(monkeypatch, _chain(6, layer), data=(64, 64))
    assert len(calls) == 2 * 2 * 6


def _exp(mirroring, stage=None):
    def layer(net, i):
        attrs = {} if mirroring is None else {"force_mirroring": mirroring}
        if stage is not None and i % stage == 0:
            attrs["mirror_stage"] = "True"
        return mx.sym.exp(net * 0.1, name=f"exp{i}", attr=attrs)

    return _chain(9, layer)


def test_force_mirroring_needs_no_switch():
    plain, _ = _train(_exp(None), {"data": (32, 32)})
    forced, after = _train(_exp("True"), {"data": (32, 32)})
    np.testing.assert_array_equal(forced["data"], plain["data"])
    assert {name for name in _repeated(after) if name.startswith("exp")} == {
        f"exp{i}" for i in range(8)
    }


def test_force_mirroring_false_keeps(monkeypatch):
    _, after = _compare(monkeypatch, _exp("False"), data=(64, 64))
    assert not [name for name in _repeated(after) if name.startswith("exp")]


def test_mirror_stage_marks_what_is_kept(monkeypatch):
    _, after = _compare(monkeypatch, _exp(None, stage=3), data=(256, 64))
    repeated = {name for name in _repeated(after) if name.startswith("exp")}
    assert repeated and not repeated & {"exp0", "exp3", "exp6"}


def test_prediction_and_other_switches_are_left_alone(monkeypatch):
    monkeypatch.setenv("CYNET_BACKWARD_DO_MIRROR", "1")
    net = _exp(None)
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(64, 64))
    assert len(executor._graph.steps) == executor._graph.n_forward
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "-mirror")
    assert not _repeated(net.simple_bind(mx.cpu(), data=(64, 64)))
    assert "mirror" in pipeline.PASS_NAMES


def test_gradients_of_weight_and_data_apart(monkeypatch, rng):
    """A step that is divided gives what the whole one gave."""
    monkeypatch.setenv("CYNET_GRAPH_PASSES", "-layout")  # a reorder would come first
    for net in (
        mx.sym.Convolution(mx.sym.var("data"), kernel=(3, 3), num_filter=8, name="c"),
        mx.sym.Deconvolution(mx.sym.var("data"), kernel=(3, 3), num_filter=8, name="c"),
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=8, name="c"),
    ):
        for dtype in ("float32", "float64"):
            executor = net.simple_bind(
                mx.cpu(), type_dict=dict.fromkeys(net.list_arguments(), dtype), data=(2, 3, 9, 9)
            )
            for array in executor.arg_arrays:
                array[:] = rng.uniform(-1, 1, array.shape)
            shape = executor.outputs[0].shape
            head = mx.nd.array(rng.uniform(-1, 1, shape), dtype=dtype)
            whole, parts = [], []
            for found, divide in ((whole, False), (parts, True)):
                if divide:
                    with monkeypatch.context() as patch:
                        patch.setattr(pipeline, "run_passes", _dividing(pipeline.run_passes))
                        executor._build_plan()
                    backward = [s for s in executor._graph.steps if s.direction == BACKWARD]
                    assert len(backward) == 2
                executor.forward(is_train=True)
                executor.backward([head])
                found.extend(grad.asnumpy() for grad in executor.grad_arrays)
            for got, want in zip(parts, whole):
                np.testing.assert_array_equal(got, want)


def _dividing(original):
    def run_passes(graph, stages, names, device):
        graph = original(graph, stages, names, device)
        if pipeline.WHOLE in stages:
            work = recompute._Recomputation(graph)
            assert work._split_backward(graph.steps[graph.n_forward])
        return graph

    return run_passes


def test_force_mirroring_repeats_a_node_once():
    """A network of n layers that are all forced takes one forward more, not n of them."""
    _, after = _train(_exp("True"), {"data": (32, 32)})
    names = [name for name in _repeated(after) if name.startswith("exp")]
    assert len(names) == len(set(names)) == 8
