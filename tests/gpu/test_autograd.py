"""Autograd on a GPU: recorded steps, copies between devices, plans as one step."""

import contextlib

import numpy as np
import pytest

import cynet as mx
from cynet import autograd as ag
from cynet import nd, sym
from cynet.executor import CachedOp


def variables(ctx):
    rng = np.random.default_rng(0)
    shapes = {"x": (4, 6), "w": (5, 6), "b": (5,), "v": (3, 5), "c": (3,)}
    made = {n: nd.array(rng.uniform(-1, 1, s), ctx=ctx) for n, s in shapes.items()}
    for array in made.values():
        array.attach_grad()
    return made


def eager(F, a):
    hidden = F.Activation(F.FullyConnected(a["x"], a["w"], a["b"], num_hidden=5), act_type="tanh")
    return F.softmax(F.FullyConnected(hidden, a["v"], a["c"], num_hidden=3))


def gradients(made, function):
    with ag.record():
        y = function(made)
        loss = (y * y).sum()
    loss.backward()
    return [made[name].grad.asnumpy() for name in made]


def close(found, expected):
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, 1e-4, 1e-6)


def test_a_recorded_step(gpu):
    close(
        gradients(variables(gpu), lambda a: eager(nd, a)),
        gradients(variables(mx.cpu()), lambda a: eager(nd, a)),
    )


def test_a_plan_as_one_step(gpu):
    op = CachedOp(eager(sym, {n: sym.Variable(n) for n in "xwbvc"}))
    made = variables(gpu)
    expected = gradients(variables(mx.cpu()), lambda a: eager(nd, a))
    for _ in range(2):
        close(gradients(made, lambda a: op(*(a[n] for n in op.inputs))[0]), expected)


def test_copies_between_devices(gpu):
    x = nd.array([1, 2, 3])
    x.attach_grad()
    with ag.record():
        far = x.as_in_context(gpu)
        y = (far * far).as_in_context(mx.cpu()) + x[1:].sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [2, 7, 9] and x.grad.context == mx.cpu()


def forget_failures():
    """Or the next test that waits for everything would raise those of this one."""
    with contextlib.suppress(mx.base.MXNetError):
        mx.nd.waitall()


@pytest.mark.parametrize("name", ["take", "pick"])
def test_backward_refuses_what_forward_refuses(gpu, name):
    """An index out of bounds gives no gradient, whoever looks first."""
    x, index = mx.nd.ones((2, 2), ctx=gpu), mx.nd.array([0, 5], ctx=gpu)
    x.attach_grad()
    with mx.autograd.record():
        y = getattr(mx.nd, name)(x, index, mode="raise")
    y.backward()
    with pytest.raises(mx.base.MXNetError, match="index 5 is out of bounds"):
        x.grad.asnumpy()
    forget_failures()


def test_a_label_that_is_no_class_moves_no_weight(gpu):
    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize(mx.init.One(), ctx=gpu)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1.0})
    x, labels = mx.nd.array([[1, 2], [3, 4]], ctx=gpu), mx.nd.array([0, 5], ctx=gpu)
    with mx.autograd.record():
        loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()(net(x), labels)
    loss.backward()
    trainer.step(2)
    with pytest.raises(mx.base.MXNetError, match="index 5 is out of bounds"):
        net.weight.data().asnumpy()
    forget_failures()
