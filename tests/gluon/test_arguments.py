"""Arguments of layers, losses and helpers that are refused where they are given."""

import re

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
    with pytest.raises(mx.MXNetError, match=re.escape(told)):
        make()


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


def nested():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    return deep


def block_of_symbols():
    x = mx.sym.Variable("data")
    return gluon.SymbolBlock(x * 2, [x])


def trained():
    net = nn.Dense(1, in_units=2)
    net.initialize()
    return gluon.Trainer(net.collect_params(), "sgd")


FLAG = np.array([True, False])  # neither true nor false


@pytest.mark.parametrize(
    "call, told",
    [
        (lambda: nn.Dense(1).register_forward_hook("a"), "a hook must be callable, got 'a'"),
        (lambda: nn.Dense(1).register_forward_pre_hook(3), "a hook must be callable, got 3"),
        (lambda: nn.Dense(1).register_op_hook({}), "a hook must be callable, got {}"),
        (lambda: block_of_symbols()(nested()), "nested too deep"),
        (lambda: nn.Dense(1)(nested()), "nested too deep"),
        (lambda: nn.InstanceNorm()(mx.sym.var("x"), nested()), "nested too deep"),
        (lambda: gluon.utils.split_data(nd.zeros((0, 2)), 10**30), "num_slice must be 1 to 65536"),
        (lambda: trained().step(1, FLAG), "ignore_stale_grad must be True or False"),
        (lambda: trained().step(1, zero_grad=FLAG), "zero_grad must be True or False"),
        (lambda: trained().update(1, FLAG), "ignore_stale_grad must be True or False"),
        (lambda: trained().update(10**400), "the batch size must be a number"),
        (lambda: mx.autograd.record(FLAG), "train_mode must be True or False"),
        (lambda: mx.autograd.pause("a"), "train_mode must be True or False"),
        (lambda: mx.autograd.mark_variables([nd.ones(2)], ["a"]), "mark_variables("),
        (lambda: mx.autograd.mark_variables([nd.ones(2)], [nd.ones(2)], 0.5), "mark_variables("),
        (lambda: mx.profiler.pause(FLAG), "pause("),
        (lambda: mx.profiler.resume(FLAG), "resume("),
        (lambda: mx.onnx.get_operator_support(FLAG), "get_operator_support("),
        (lambda: mx.contrib.text.embedding.create(nested()), "nested too deep"),
        (lambda: mx.contrib.text.embedding.get_pretrained_file_names(nested()), "nested too deep"),
    ],
)
def test_what_passes_for_no_argument(call, told):
    with pytest.raises(mx.MXNetError, match=re.escape(told)):
        call()
