"""Plans of further shapes: nodes that are alike have one property, which is asked once."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, nd, sym
from cynet.executor import operators
from cynet.graph.infer import Structure


def layers(n=6):
    """Convolutions of which two in three are alike, with norms, relus, sums and a Dropout."""
    net = sym.var("data")
    for i in range(n):
        width = 3 if i % 3 else 1
        out = sym.Convolution(
            net, num_filter=8, kernel=(width, width), pad=(width // 2,) * 2, name=f"conv{i}"
        )
        out = sym.BatchNorm(out, name=f"norm{i}", eps=1e-3 if i % 2 else 1e-5)
        net = sym.Activation(out + net if i == 3 else out, act_type="relu", name=f"relu{i}")
        net = sym.LeakyReLU(net, slope=0.1 * (i + 1), name=f"leaky{i}")
    net = sym.Dropout(net, p=0.5)
    return sym.FullyConnected(sym.mean(net, axis=(2, 3)), num_hidden=3, name="fc")


def arrays_of(op, size, rng):
    known = {"data": (2, 8, size, size)}
    args, _, auxs = op.symbol.infer_shape(**known)
    return [nd.array(rng.uniform(0.1, 1, shape)) for shape in (*args, *auxs)]


def run(op, arrays, training):
    """The bytes of outputs, gradients and states."""
    arrays = [each.copy() for each in arrays]
    for each in arrays[: len(op.symbol.list_arguments())]:
        each.attach_grad()
    mx.random.seed(5)
    if training:
        with autograd.record():
            (out,) = op(*arrays)
        out.backward()
    else:
        (out,) = op(*arrays)
    found = [out, *arrays, *(each.grad for each in arrays if training and each.grad is not None)]
    return [each.asnumpy().tobytes() for each in found]


@pytest.mark.parametrize("training", [False, True])
def test_a_plan_is_the_same_whichever_shape_came_first(rng, monkeypatch, training):
    monkeypatch.setenv("CYNET_RUNS_BEFORE_PLAN", "0")
    first, second = mx.executor.CachedOp(layers()), mx.executor.CachedOp(layers())
    for size in (9, 7, 11):
        run(second, arrays_of(second, size, rng), training)
    arrays = arrays_of(first, 10, rng)
    assert run(first, arrays, training) == run(second, arrays, training)


def test_nodes_of_one_kind_have_one_property():
    structure = Structure(layers().entries)
    nodes = {node.name: node for node in structure.order}
    assert all(prop is node.prop for node, prop in structure.properties().items())
    again = {node.name: prop for node, prop in structure.properties().items()}
    assert again["conv1"] is again["conv2"] is again["conv4"] is nodes["conv1"].prop
    assert again["conv0"] is again["conv3"] is not again["conv1"]
    assert again["norm0"] is again["norm2"] is not again["norm1"]
    assert again["leaky0"] is not again["leaky1"]  # their slopes differ


def test_operators_without_state_are_made_once_a_kind(monkeypatch):
    monkeypatch.setenv("CYNET_RUNS_BEFORE_PLAN", "0")
    net, made, asked = sym.var("data"), [], []
    for _ in range(20):
        net = sym.FullyConnected(net, num_hidden=8)
    op = mx.executor.CachedOp(net)
    arrays = [nd.ones(shape) for shape in net.infer_shape(data=(2, 8))[0]]
    real = operators.create_operator

    def create(step):
        made.append(step.name)
        return real(step)

    monkeypatch.setattr(operators, "create_operator", create)
    hooks = type(next(n.prop for n in op._structure.order if n.op is not None).graph)
    prepack = hooks.prepack

    def ask(self, *args):
        asked.append(args)
        return prepack(self, *args)

    monkeypatch.setattr(hooks, "prepack", ask)
    for rows, most in ((2, 40), (3, 4)):
        made.clear(), asked.clear()
        op(nd.ones((rows, 8)), *arrays[1:])
        assert 0 < len(made) <= most and 0 < len(asked) <= most / 2
    np.testing.assert_array_equal(op(nd.ones((3, 8)), *arrays[1:])[0].shape, (3, 8))
