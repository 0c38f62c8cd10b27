"""Backward hooks of Blocks: what they see and change, against PyTorch, hybridized and not."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn
from tests.fixtures.torch_hooks import FACTOR, data

WANTED = np.load(Path(__file__).parents[2] / "fixtures" / "torch_hooks.npz")


def network(hybrid):
    """The two layers of the fixture, with tanh between them, and their input."""
    t = data()
    net = nn.HybridSequential()
    net.add(nn.Dense(5, in_units=3), nn.Activation("tanh"), nn.Dense(2, in_units=5))
    net.initialize()
    for i, layer in enumerate((net[0], net[2])):
        layer.weight.set_data(nd.array(t[f"w{i}"]))
        layer.bias.set_data(nd.array(t[f"b{i}"]))
    if hybrid:
        net.hybridize()
    x = nd.array(t["x"])
    x.attach_grad()
    return net, x


def back(net, x):
    with autograd.record():
        loss = (net(x) ** 2).sum()
    loss.backward()


@pytest.mark.parametrize("hybrid", [False, True])
def test_what_hooks_see_and_change_is_that_of_pytorch(hybrid):
    net, x = network(hybrid)
    found = {}

    def keep(name):
        def hook(block, grad_inputs, grad_outputs):
            assert block in (net[0], net[2]) and len(grad_inputs) == len(grad_outputs) == 1
            found[f"{name}/in"], found[f"{name}/out"] = grad_inputs[0], grad_outputs[0]
            return (grad_inputs[0] * FACTOR,)

        return hook

    back(net, x)  # graphs that were made before hooks are not kept
    handles = [net[k].register_backward_hook(keep(f"layer{i}")) for i, k in enumerate((0, 2))]
    back(net, x)
    for name, each in found.items():
        np.testing.assert_allclose(each.asnumpy(), WANTED[name], 1e-4, 1e-4)
    assert len(found) == 4
    grads = {"x": x.grad}
    for i, layer in enumerate((net[0], net[2])):
        grads.update({f"w{i}": layer.weight.grad(), f"b{i}": layer.bias.grad()})
    for name, each in grads.items():
        np.testing.assert_allclose(each.asnumpy(), WANTED[f"module/{name}"], 1e-4, 1e-4)
    for handle in handles:
        handle.detach()
    found.clear()
    back(net, x)
    assert not found


@pytest.mark.parametrize("hybrid", [False, True])
def test_the_hook_of_a_whole_network(hybrid):
    net, x = network(hybrid)
    back(net, x)
    plain, seen = x.grad.asnumpy(), []
    weights = net[0].weight.grad().asnumpy()
    net.register_backward_hook(
        lambda block, a, b: seen.append((a[0].shape, b[0].shape)) or a[0] * 2
    )
    back(net, x)
    assert seen == [((4, 3), (4, 2))]
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * plain, 1e-5)
    np.testing.assert_allclose(net[0].weight.grad().asnumpy(), weights, 1e-5)
    net(x)
    with autograd.record(), autograd.pause():
        net(x)
    assert len(seen) == 1  # only what is recorded


def test_hooks_where_no_input_wants_a_gradient():
    net, x = network(False)
    seen = []
    net[0].register_backward_hook(lambda block, a, b: seen.append((a, b[0].shape)))
    back(net, x.detach())
    assert seen == [((None,), (4, 5))]
    net.freeze()
    with autograd.record():
        net(x.detach())
    assert len(seen) == 1


@pytest.mark.parametrize("hybrid", [False, True])
def test_arrays_in_lists(hybrid):
    cell = gluon.rnn.LSTMCell(2, input_size=3)
    cell.initialize()
    if hybrid:
        cell.hybridize()
    x, states = nd.ones((1, 3)), [nd.ones((1, 2)), nd.zeros((1, 2))]
    for each in (x, states[1]):
        each.attach_grad()
    seen = []

    def hook(block, grad_inputs, grad_outputs):
        seen.append([None if g is None else g.shape for g in (*grad_inputs, *grad_outputs)])
        return (None, None, grad_inputs[2] * 10) if len(seen) > 1 else None

    cell.register_backward_hook(hook)
    for _ in range(2):
        with autograd.record():
            _, (h, c) = cell(x, states)
            loss = h.sum() + c.sum()
        loss.backward()
        if len(seen) == 1:
            first = states[1].grad.asnumpy()
    # inputs x, h, c; outputs out (which is h, and not read itself), h, c
    assert seen == [[(1, 3), None, (1, 2), None, (1, 2), (1, 2)]] * 2
    np.testing.assert_allclose(states[1].grad.asnumpy(), 10 * first, 1e-6)


def test_a_block_that_gives_what_it_takes():
    net, x = nn.HybridLambda("identity"), nd.ones(2)
    x.attach_grad()
    net.register_backward_hook(lambda block, a, b: a[0] * 5)
    with autograd.record():
        y = net(net(x))
    y.backward()
    assert x.grad.asnumpy().tolist() == [25, 25]


def test_gradients_of_gradients_and_kept_graphs():
    net, x = nn.HybridLambda("square"), nd.array([3.0])
    x.attach_grad()
    net.register_backward_hook(lambda block, a, b: a[0] * 2)
    with autograd.record():
        y = net(x)
        (slope,) = autograd.grad(y, [x], create_graph=True, retain_graph=True)
    assert slope.asnumpy().tolist() == [12]  # 2 * 2 x
    slope.backward()
    assert x.grad.asnumpy().tolist() == [4]  # no gradient of the output, so no hook, as in PyTorch


def test_checkpointed_and_compiled_blocks():
    net, x = network(False)
    back(net, x)
    plain, seen = x.grad.asnumpy(), []
    net[0].register_backward_hook(lambda block, a, b: seen.append(a[0].shape))
    gluon.checkpoint(net[0])
    back(net, x)
    assert seen == [(4, 3)]

    @mx.compile
    def run(x):
        return net(x)

    back(run, x)
    assert seen == [(4, 3)] * 2
    np.testing.assert_allclose(x.grad.asnumpy(), plain, 1e-5)


def test_copies_and_pickles_and_arrays_of_mx_np():
    net, x = network(False)
    net.register_backward_hook(_ten_times)
    for each in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert len(each._backward_hooks) == 1
        back(each, x)
    y = mx.np.array(x.asnumpy())
    y.attach_grad()
    back(net, y)
    np.testing.assert_allclose(y.grad.asnumpy(), x.grad.asnumpy(), 1e-5)
    assert isinstance(y.grad, mx.np.ndarray)


def _ten_times(block, grad_inputs, grad_outputs):
    return grad_inputs[0] * 10


def test_what_is_refused():
    net, x = network(False)
    with pytest.raises(TypeError, match="a hook must be callable, got 3"):
        net.register_backward_hook(3)
    for given, told in (
        (3, "returned 3, expected None or a gradient for each of 1 input"),
        ((), r"returned \(\), expected None or a gradient for each of 1 input"),
        ((3,), "for input 0, returned 3, expected an NDArray"),
        (nd.ones(2), r"for input 0, returned a gradient of shape \(2,\), expected \(4, 3\)"),
    ):
        handle = net.register_backward_hook(lambda block, a, b, given=given: given)
        with pytest.raises(mx.MXNetError, match=f"a backward hook of {net.name}.*{told}"):
            back(net, x)
        handle.detach()
    with net.register_backward_hook(lambda block, a, b: None):
        with pytest.raises(ValueError, match=f"{net.name} has backward hooks, which a Symbol"):
            net(mx.sym.var("data"))
        net.summary(x)  # looks at shapes alone
        with pytest.raises(mx.MXNetError, match=f"the inputs of {net.name}, which has backward"):
            with autograd.record():
                y = net(x)
            autograd.get_symbol(y)
    assert net(mx.sym.var("data")).list_arguments()[0] == "data"


def stack(kind):
    cells = kind()
    cells.add(gluon.rnn.LSTMCell(4, input_size=4))
    return cells


def symbol_block():
    data = mx.sym.var("data")
    return gluon.SymbolBlock(mx.sym.FullyConnected(data, num_hidden=2, name="fc"), data)


X, TWO = (3, 4), [(3, 4), (3, 4)]
CALLS = {  # Blocks with a way to be called, or to compute, of their own; shapes of arguments
    "stack of cells": (lambda: stack(gluon.rnn.SequentialRNNCell), [X, TWO]),
    "hybrid stack": (lambda: stack(gluon.rnn.HybridSequentialRNNCell), [X, TWO]),
    "modifier": (lambda: gluon.rnn.ResidualCell(gluon.rnn.GRUCell(4, input_size=4)), [X, [X]]),
    "recurrent layer": (lambda: gluon.rnn.LSTM(4), [(5, 3, 4), [(1, 3, 4), (1, 3, 4)]]),
    "attention": (lambda: nn.MultiHeadAttention(4, 2), [(2, 3, 4)] * 3),
    "symbol": (symbol_block, [X]),
    "norm of all ranks": (lambda: gluon.contrib.nn.SyncBatchNorm(in_channels=4), [X]),
    "wrapper": (lambda: nn.SpectralNorm(nn.Dense(3)), [X]),
    "loss": (gluon.loss.L2Loss, [X, X]),
    "function": (lambda: nn.HybridLambda("tanh"), [X]),
}


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_hooks_of_blocks_of_all_kinds(name, hybrid, rng):
    made, shapes = CALLS[name]
    net = made()
    net.initialize()

    def array(shape):
        if isinstance(shape, list):
            return [array(each) for each in shape]
        found = nd.array(rng.normal(size=shape))
        found.attach_grad()
        return found

    args = [array(each) for each in shapes]
    if hybrid:
        net.hybridize()
    net(*args)
    seen = []
    net.register_forward_pre_hook(lambda block, inputs: seen.append("before"))
    net.register_forward_hook(lambda block, inputs, out: seen.append("behind"))
    net.register_backward_hook(
        lambda block, a, b: seen.append([None if g is None else g.shape for g in a])
    )
    with autograd.record():
        out = net(*args)
        out = out[0] if isinstance(out, (list, tuple)) else out
    out.backward()
    flat = [each for shape in shapes for each in (shape if isinstance(shape, list) else [shape])]
    assert seen == ["before", "behind", flat]
