"""autocast: Dense and convolutions in float16, everything else in float32."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon
from cynet.gluon import nn


def half(array):
    return array.astype("float16").astype("float32")


@pytest.mark.parametrize("hybridize", [False, True])
def test_a_dense_layer(hybridize, rng):
    """Against NumPy on numbers that were rounded to float16."""
    x, w = (rng.normal(size=shape).astype("float32") for shape in ((4, 6), (3, 6)))
    net = gluon.autocast(nn.Dense(3))
    net.initialize()
    net(mx.nd.array(x))
    net.weight.set_data(mx.nd.array(w))
    net.hybridize(hybridize)
    data = mx.nd.array(x)
    data.attach_grad()
    with autograd.record():
        out = net(data)
    out.backward()
    wanted = half(x) @ half(w).T
    assert out.dtype == net.weight.data().dtype == net.weight.grad().dtype == np.float32
    assert (out.asnumpy() == half(out.asnumpy())).all()
    np.testing.assert_allclose(out.asnumpy(), wanted, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(data.grad.asnumpy(), half(w).sum(0)[None] + 0 * x, rtol=4e-3)
    wanted = np.tile(half(x).sum(0), (3, 1))
    np.testing.assert_allclose(net.weight.grad().asnumpy(), wanted, rtol=4e-3, atol=2e-3)


def network():
    mx.random.seed(1)
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.Flatten())
    net.add(nn.Dense(8, activation="tanh"), nn.Dense(2))
    net.initialize(mx.init.Xavier())
    return net


def losses(net, steps=12):
    rng = np.random.RandomState(0)
    x, y = mx.nd.array(rng.normal(size=(16, 1, 8, 8))), mx.nd.array(rng.randint(0, 2, 16))
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    net(x)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    found = []
    for _ in range(steps):
        with autograd.record():
            loss = loss_of(net(x), y)
            scaled = loss * 128
        scaled.backward()
        trainer.step(128 * 16)
        found.append(loss.mean().asscalar())
    return np.array(found)


@pytest.mark.parametrize("dtype, tolerance", [("float16", 0.02), ("bfloat16", 0.06)])
def test_training(dtype, tolerance):
    plain, eager = losses(network()), losses(gluon.autocast(network(), dtype))
    net = gluon.autocast(network(), dtype)
    net.hybridize()
    np.testing.assert_allclose(eager, plain, rtol=tolerance)
    np.testing.assert_allclose(losses(net), eager, rtol=tolerance / 2)
    assert (eager != plain).any() and eager[-1] < eager[0] / 2
    assert {each.data().dtype for each in net.collect_params().values()} == {np.float32}


def test_it_can_be_undone_and_graphs_follow():
    net = network()
    net.hybridize()
    x = mx.nd.array(np.random.RandomState(0).normal(size=(2, 1, 8, 8)))
    plain = net(x).asnumpy()
    gluon.autocast(net)
    cast = net(x).asnumpy()
    assert (cast != plain).any()
    np.testing.assert_allclose(cast, plain, rtol=0.02, atol=5e-3)
    assert (gluon.autocast(net, "float32")(x).asnumpy() == plain).all()


def test_refusals():
    with pytest.raises(ValueError, match="must be float16, bfloat16 or float32, got 'int8'"):
        gluon.autocast(network(), "int8")
    with pytest.raises(ValueError, match="got None"):
        gluon.autocast(network(), None)
    with pytest.raises(TypeError, match="autocast takes a Block"):
        gluon.autocast(3)
