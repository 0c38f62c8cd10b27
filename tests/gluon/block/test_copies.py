"""Copies and pickles of Blocks, of Trainers and of what else users copy."""

import copy
import pickle

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn

X = nd.array([[1.0, -2, 3, 0.5], [0, 1, 2, 3]])
WAYS = [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]


def step(net, trainer):
    with autograd.record():
        loss = (net(X) ** 2).sum()
    loss.backward()
    trainer.step(1)


def chain(activation="tanh"):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, activation=activation), nn.BatchNorm(), nn.Dropout(0.5), nn.Dense(2))
    net.initialize()
    return net


@pytest.mark.parametrize("way", WAYS, ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("hybridize", [False, True], ids=["eager", "hybridized"])
def test_a_network_in_the_middle_of_training(way, hybridize):
    """Graphs hold memory of their own and are no part of a copy."""
    net = chain()
    if hybridize:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    step(net, trainer)
    wanted = net(X).asnumpy()
    other = way(net)
    assert list(other.collect_params().keys()) == list(net.collect_params().keys())
    assert other._active == hybridize
    assert (other(X).asnumpy() == wanted).all()
    assert other[0].weight is not net[0].weight
    step(other, gluon.Trainer(other.collect_params(), "sgd", {"learning_rate": 0.5}))
    assert abs(other(X).asnumpy() - wanted).max() > 1e-3
    assert (net(X).asnumpy() == wanted).all()


@pytest.mark.parametrize("way", WAYS, ids=["deepcopy", "pickle"])
def test_a_network_with_its_trainer(way, seed):
    net = nn.Dense(2)
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    step(net, trainer)
    other, its = way((net, trainer))
    step(net, trainer)
    step(other, its)
    assert (other.weight.data().asnumpy() == net.weight.data().asnumpy()).all()
    assert its.optimizer is not trainer.optimizer and its.optimizer.num_update == 2


@pytest.mark.parametrize("way", WAYS, ids=["deepcopy", "pickle"])
def test_recurrent_layers_and_imported_blocks(way, tmp_path):
    layer = gluon.rnn.LSTM(3)
    layer.initialize()
    layer.hybridize()
    x = X.expand_dims(0)
    layer(x)
    assert (way(layer)(x).asnumpy() == layer(x).asnumpy()).all()
    net = chain()
    net.hybridize()
    net(X)
    net.export(tmp_path / "a")
    block = gluon.SymbolBlock.imports(
        tmp_path / "a-symbol.json", "data", tmp_path / "a-0000.params"
    )
    assert (way(block)(X).asnumpy() == block(X).asnumpy()).all()
    assert (way(block)(X).asnumpy() == net(X).asnumpy()).all()


def test_a_shallow_copy_traces_its_own_attributes():
    class Times(gluon.HybridBlock):
        factor = 2

        def hybrid_forward(self, F, x):
            return x * self.factor

    block = Times()
    block.hybridize()
    assert block(nd.ones(1)).asscalar() == 2
    other = copy.copy(block)
    other.factor = 5
    assert other(nd.ones(1)).asscalar() == 5 and block(nd.ones(1)).asscalar() == 2


@pytest.mark.parametrize("way", WAYS, ids=["deepcopy", "pickle"])
def test_a_cached_op(way):
    op = mx.executor.CachedOp(mx.sym.Variable("a") * 2)
    op(nd.ones(2))
    (out,) = way(op)(nd.array([3, 4]))
    assert out.asnumpy().tolist() == [6, 8]


@pytest.mark.parametrize("way", WAYS, ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("num_workers", [0, 1])
def test_a_loader(way, num_workers):
    loader = gluon.data.DataLoader(list(range(5)), 2, num_workers=num_workers)
    wanted = [each.asnumpy().tolist() for each in loader]
    assert [each.asnumpy().tolist() for each in way(loader)] == wanted


def test_a_parameter_on_several_contexts():
    param = gluon.Parameter("w", shape=(2,))
    param.initialize(ctx=[mx.cpu(0), mx.cpu(1)])
    for way in WAYS:
        other = way(param)
        assert other.list_ctx() == param.list_ctx()
        with autograd.record():
            loss = (other.data(mx.cpu(1)) * 3).sum()
        loss.backward()
        assert other.grad(mx.cpu(1)).asnumpy().tolist() == [3, 3]
        assert not np.any(param.grad(mx.cpu(1)).asnumpy())
