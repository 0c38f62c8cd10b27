"""What predictions draw: nothing, unless an operator draws in prediction, too."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn

X = nd.array(np.random.RandomState(0).normal(size=(6, 8)))


def after(run):
    """The numbers that come behind `run`, from one seed."""
    mx.random.seed(3)
    run()
    return nd.random.uniform(shape=(3,)).asnumpy().tolist()


def recurrent(hybridize):
    layer = gluon.rnn.LSTM(4, 2, dropout=0.5, input_size=8)
    layer.initialize(mx.init.One())
    if hybridize:
        layer.hybridize()
    return layer


def chain(hybridize, sizes=(0, 0, 0)):
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="relu", in_units=sizes[0]), nn.Dropout(0.3))
    net.add(nn.Dense(16, in_units=sizes[1]), nn.Dropout(0.5, axes=(1,)))
    net.add(nn.Dense(3, in_units=sizes[2]))
    net.initialize(mx.init.Xavier())
    if hybridize:
        net.hybridize()
    return net


@pytest.mark.parametrize("hybridize", [False, True], ids=["eager", "hybridized"])
def test_predictions_draw_nothing(hybridize):
    nothing = after(lambda: None)
    assert after(lambda: nd.Dropout(X, p=0.5)) == nothing
    assert after(lambda: nd.LeakyReLU(X, act_type="rrelu")) == nothing
    assert after(lambda: nd.Dropout(X, p=0.5, mode="always")) != nothing
    layer = recurrent(hybridize)
    assert after(lambda: layer(X.expand_dims(0))) == nothing
    net = chain(hybridize)
    net(X)
    assert after(lambda: net(X)) == nothing
    with autograd.train_mode():
        assert after(lambda: net(X)) != nothing
        assert after(lambda: layer(X.expand_dims(0))) != nothing


def test_one_seed_gives_one_network():
    """Whether sizes are given or told by the first batch, eagerly or hybridized (as in MXNet)."""
    weights, masks = [], []
    for hybridize, sizes in ((False, (8, 16, 16)), (False, (0, 0, 0)), (True, (0, 0, 0))):
        mx.random.seed(7)
        net = chain(hybridize, sizes)
        net(X)
        weights.append([net[i].weight.data().asnumpy() for i in (0, 2, 4)])
        with autograd.record():
            masks.append(net(X).asnumpy())
    for others, mask in zip(weights[1:], masks[1:]):
        assert all((a == b).all() for a, b in zip(weights[0], others))
        np.testing.assert_allclose(mask, masks[0], atol=1e-6)


@pytest.mark.parametrize("mode, draws", [("training", False), ("always", True)])
def test_a_bound_graph(mode, draws):
    symbol = mx.sym.Dropout(mx.sym.Variable("x"), mode=mode)
    executor = symbol.simple_bind(mx.cpu(), x=(4,))
    nothing = after(lambda: None)
    assert (after(lambda: executor.forward(is_train=False)) != nothing) == draws
    assert after(lambda: executor.forward(is_train=True)) != nothing
