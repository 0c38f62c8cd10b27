"""Hooks of arrays' gradients: what they see and change, against PyTorch; where they are refused."""

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from tests.fixtures.torch_hooks import BOUND, FACTOR, data

WANTED = np.load(Path(__file__).parents[1] / "fixtures" / "torch_hooks.npz")


def test_what_hooks_see_and_change_is_that_of_pytorch():
    t = {name: nd.array(each) for name, each in data().items()}
    for each in t.values():
        each.attach_grad()
    seen = []
    t["w0"].register_hook(lambda g: nd.clip(g, -BOUND, BOUND))
    with autograd.record():
        hidden = nd.tanh(nd.FullyConnected(t["x"], t["w0"], t["b0"], num_hidden=5))
        hidden.register_hook(lambda g: seen.append(g.asnumpy()))
        hidden.register_hook(lambda g: g * FACTOR)
        out = nd.FullyConnected(hidden, t["w1"], t["b1"], num_hidden=2)
        loss = (out**2).sum() + (hidden**3).sum()
    loss.backward()
    np.testing.assert_allclose(seen[0], WANTED["seen"], 1e-5, 1e-5)
    assert len(seen) == 1
    for name, each in t.items():
        np.testing.assert_allclose(each.grad.asnumpy(), WANTED[f"tensor/{name}"], 1e-4, 1e-5)


def leaf(values=(1, 2), req="write"):
    x = nd.array(values)
    x.attach_grad(req)
    return x


def back(x, function=lambda x: x * 3):
    with autograd.record():
        y = function(x)
    y.backward()
    return x.grad.asnumpy().tolist()


def test_a_hook_sees_all_parts_at_once():
    x, seen = leaf(), []
    x.register_hook(lambda g: seen.append(g.asnumpy().tolist()))
    assert back(x, lambda x: x * 3 + x * x + nd.sin(x * 0)) == [5, 7]
    assert seen == [[5, 7]]


def test_requests():
    x, seen = leaf(req="add"), []
    handle = x.register_hook(lambda g: seen.append(g.asnumpy().tolist()) or g * 10)
    assert [back(x), back(x)] == [[30, 30], [60, 60]] and seen == [[3, 3], [3, 3]]
    handle.detach()
    assert back(x) == [63, 63]
    x.attach_grad()  # another variable: hooks are those of the one before
    assert back(x) == [3, 3]


def test_hooks_in_their_order_and_as_a_context():
    x = leaf()
    x.register_hook(lambda g: g + 1)
    with x.register_hook(lambda g: g * 10):
        assert back(x) == [40, 40]
    assert back(x) == [4, 4]


@pytest.mark.parametrize("create", [False, True])
def test_grad_calls_them_too(create):
    x, y = leaf(), leaf((5, 7))
    x.register_hook(lambda g: g * 10)
    other = y.register_hook(lambda g: pytest.fail("nobody asked for it"))
    with autograd.record():
        (slope,) = autograd.grad(x * x * y, [x], create_graph=create, retain_graph=True)
        if create:
            slope = slope.sum()
    assert slope.asnumpy().tolist() == ([380] if create else [100, 280])
    if create:
        other.detach()  # d 20 x y / dx is 20 y; x's own hook comes once more
        slope.backward()
        assert x.grad.asnumpy().tolist() == [1000, 1400]


def test_a_gradient_that_is_written_in_place_is_nobody_elses():
    """A sum hands one array on to both inputs, and to the head."""
    x, y, head = leaf(), leaf(), nd.array([1, 1])

    def double(grad):
        grad *= 2

    with autograd.record():
        a, b = x * 1, y * 1
        a.register_hook(double)
        z = a + b
    z.backward(head)
    assert x.grad.asnumpy().tolist() == [2, 2] and y.grad.asnumpy().tolist() == [1, 1]
    with autograd.record():
        z = x * 1
        z.register_hook(double)
    z.backward(head)
    assert x.grad.asnumpy().tolist() == [2, 2] and head.asnumpy().tolist() == [1, 1]


def test_outputs_of_one_step():
    x, seen = leaf((1, 2, 3, 4)), {}
    with autograd.record():
        parts = nd.split(x, 2, axis=0)
        for i, each in enumerate(parts):
            each.register_hook(lambda g, i=i: seen.update({i: g.asnumpy().tolist()}))
        z = parts[0] * 5
    z.backward()
    assert seen == {0: [5, 5]}  # nothing came to the other
    assert x.grad.asnumpy().tolist() == [5, 5, 0, 0]


def test_views_copies_casts_and_functions():
    class Twice(autograd.Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return dy * 2

    for made in (
        lambda x: x.reshape((2, 1)),
        lambda x: x[:],
        lambda x: x.copy(),
        lambda x: x.astype("float16"),
        lambda x: Twice()(x),
    ):
        x, seen = leaf(), []
        with autograd.record():
            y = made(x)
            y.register_hook(lambda g, seen=seen: seen.append((g.shape, g.dtype)) or g * 10)
            z = y * 3
        z.backward()
        assert seen == [(y.shape, y.dtype)]
        assert x.grad.asnumpy().max() in (30, 60)


def test_graphs_that_are_kept():
    x, seen = leaf(), []
    with autograd.record():
        y = x * x
        y.register_hook(lambda g: seen.append(1))
        z = y * 2
    z.backward(retain_graph=True)
    z.backward()
    assert seen == [1, 1]


def test_arrays_of_mx_np():
    x = mx.np.array([1.0, 2.0])
    x.attach_grad()
    kinds = []
    x.register_hook(lambda g: kinds.append(type(g)) or g * 2)
    with autograd.record():
        y = (x * x).sum()
    y.backward()
    assert kinds == [mx.np.ndarray] and x.grad.asnumpy().tolist() == [4, 8]


@pytest.mark.parametrize("stype", ["row_sparse", "default"])
def test_gradients_by_rows(stype):
    weight = nd.ones((4, 2))
    weight.attach_grad(stype=stype)
    seen = []
    weight.register_hook(lambda g: seen.append(g.stype) or g * 3)
    for function in (
        lambda: nd.Embedding(nd.array([2, 2, 0]), weight, 4, 2, sparse_grad=True),
        lambda: (
            nd.Embedding(nd.array([2, 2, 0]), weight, 4, 2, sparse_grad=True)[:2]
            + nd.Embedding(nd.array([2, 0]), weight, 4, 2, sparse_grad=True)
        ),
    ):
        with autograd.record():
            y = function()
        y.backward()
        assert weight.grad.stype == stype == seen.pop()
        counts = [1, 0, 2, 0] if y.shape[0] == 3 else [1, 0, 3, 0]
        assert weight.grad.tostype("default").asnumpy()[:, 0].tolist() == [3 * n for n in counts]


@pytest.mark.parametrize("hybrid", [False, True])
def test_parameters_and_inputs_of_a_block(hybrid):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(2, in_units=2), gluon.nn.Dense(1, in_units=2))
    net.initialize(mx.init.One())
    if hybrid:
        net.hybridize()
    x = leaf((1, 2))
    net[0].weight.data().register_hook(lambda g: g * 0 + 7)
    x.register_hook(lambda g: g * 10)
    back(x, lambda x: net(x.reshape((1, 2))))
    assert x.grad.asnumpy().tolist() == [20, 20]
    assert net[0].weight.grad().asnumpy().tolist() == [[7, 7], [7, 7]]
    assert net[0].bias.grad().asnumpy().tolist() == [1, 1]


def test_a_hook_goes_with_its_graph():
    class Held:
        pass

    held, x = Held(), leaf()
    gone = weakref.ref(held)
    with autograd.record():
        y = x * 2
        y.register_hook(lambda g, held=held, y=y: None)  # a cycle
        z = y * 2
    z.backward()
    del held, y, z
    gc.collect()
    assert gone() is None


def test_what_a_hook_must_not_give():
    for given, kind, told in (
        (
            3,
            mx.MXNetError,
            "a hook of a variable of shape .2,., recorded at .*, returned 3, expect",
        ),
        (nd.ones(3), ValueError, r"returned a gradient of shape \(3,\), expected \(2,\)"),
    ):
        x = leaf()
        x.register_hook(lambda g, given=given: given)
        with pytest.raises(kind, match=told):
            back(x)
    x = leaf()
    with autograd.record():
        y = x * 2
        y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        y.backward()
    assert back(x) == [3, 3]  # nothing is left behind
    x.register_hook(lambda g: g.astype("float64"))
    assert back(x) == [3, 3] and x.grad.dtype == np.float32


def test_arrays_without_gradients_refuse_hooks():
    x = leaf()
    with autograd.record():
        y = x * 2
    y.backward()
    module = mx.mod.Module(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1), label_names=None
    )
    module.bind([("data", (1, 2))])
    module.init_params()
    frozen = nd.ones(1)
    frozen.attach_grad("null")
    for array in (nd.ones(1), frozen, x.detach(), module._exec_group.execs[0].arg_arrays[0]):
        with pytest.raises(mx.MXNetError, match="register_hook: no gradient goes to this array"):
            array.register_hook(print)
    with autograd.record():
        for array in (nd.ones(1) * 2, frozen * 2):
            with pytest.raises(mx.MXNetError, match="no gradient goes to this array of shape"):
                array.register_hook(print)
    with pytest.raises(TypeError, match="a hook must be callable, got 3"):
        x.register_hook(3)


def test_a_traced_forward_that_registers_one_runs_as_it_is():
    class Hooked(gluon.HybridBlock):
        def forward(self, x):
            y = x * 2
            y.register_hook(lambda g: g * 10)
            return y * 3

    net, x = Hooked(), leaf()
    net.hybridize()
    with pytest.warns(UserWarning, match="cannot be hybridized.*register_hook"):
        back(x, net)
    assert x.grad.asnumpy().tolist() == [60, 60]
