"""Arguments of layers, losses and helpers that are refused where they are given."""

import numpy as np
import pytest

import cynet as mx
from cynet import gluon, nd
from cynet.gluon import nn


@pytest.mark.parametrize(
    "make, told",
    [
        (lambda: gluon.rnn.LSTM(0), "LSTM: hidden_size must be an int from 1 on, got 0"),
        (lambda: gluon.rnn.GRU(3, 0), "GRU: num_layers must be an int from 1 on, got 0"),
        (lambda: gluon.rnn.RNNCell("a"), "RNNCell: hidden_size must be an int from 1 on, got 'a'"),
        (lambda: nn.Conv2D(4, 3, groups=0), "Conv2D: groups must be an int from 1 on, got 0"),
        (lambda: nn.Dropout(-0.1), "Dropout: rate must be from 0 to 1, got -0.1"),
        (lambda: nn.Dropout(1.5), "Dropout: rate must be from 0 to 1, got 1.5"),
        (lambda: gluon.loss.HuberLoss(rho=0), "HuberLoss: rho must be greater than 0, got 0"),
        (lambda: gluon.Parameter("w", shape=(2,), dtype="foo"), "dtype 'foo' is not one of"),
        (
            lambda: gluon.utils.clip_global_norm([nd.ones(2)], -1),
            "max_norm must be 0 or more, got -1",
        ),
        (
            lambda: gluon.utils.clip_global_norm(nd.ones(2), 1),
            "clip_global_norm takes a list of arrays, got <NDArray 2",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_named(make, told):
    with pytest.raises(mx.MXNetError) as caught:
        make()
    assert told in str(caught.value)


def test_a_dtype_that_is_refused_changes_nothing():
    net = nn.Dense(1, in_units=2)
    net.initialize(mx.init.One())
    with pytest.raises(mx.MXNetError, match="dtype 'foo' is not one of"):
        net.cast("foo")
    assert np.dtype(net.weight.dtype) == np.float32
    assert net(nd.ones((1, 2))).asscalar() == 2


def test_numbers_of_numpy():
    """As MXNet takes them."""
    loss = gluon.loss.L1Loss(weight=np.float32(0.5))
    assert loss(nd.array([[4]]), nd.array([[2]])).asscalar() == 1
    layer = gluon.rnn.GRU(np.int64(3), np.int32(2))
    layer.initialize()
    assert layer(nd.ones((2, 1, 4))).shape == (2, 1, 3)
    assert nn.Dropout(np.float32(0.5))(nd.ones(2)).shape == (2,)
