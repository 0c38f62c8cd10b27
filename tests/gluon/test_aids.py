"""Training aids: exact resume, groups, freezing, clipping."""

import json
import os
import random

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn


@pytest.fixture(autouse=True)
def streams():
    """Other tests' random numbers stay what they are."""
    before = np.random.get_state(), random.getstate(), mx.random.get_state()
    yield
    np.random.set_state(before[0])
    random.setstate(before[1])
    mx.random.set_state(before[2])


# --- resuming ------------------------------------------------------------------------------------
def dense(**kwargs):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2), nn.Dense(2, in_units=3))
    net.initialize(**kwargs)
    return net


def test_files_of_training_that_do_not_fit(tmp_path):
    path = str(tmp_path / "a")
    net = dense()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    gluon.save_training(path, net, trainer, extra=[1, "a"])
    assert gluon.load_training(path, net, trainer) == [1, "a"]
    with pytest.raises(mx.MXNetError, match="none of the Trainers was given"):
        gluon.load_training(path, net)
    with pytest.raises(AssertionError, match="'weight', 'bias' are missing"):
        gluon.load_training(path, nn.Dense(1, in_units=1), trainer)
    net.save_parameters(path)
    with pytest.raises(mx.MXNetError, match="expected a file of a training"):
        gluon.load_training(path, net, trainer)
    with pytest.raises(TypeError, match="extra: this must be what JSON can hold"):
        gluon.save_training(path, net, extra={1, 2})
    nd.save(path, {"meta": nd.array(np.frombuffer(b"{}", np.uint8), dtype="uint8")})
    with pytest.raises(mx.MXNetError, match="'meta' is damaged"):
        gluon.load_training(path, net)


def test_random_state():
    mx.random.seed(5)
    mx.random.uniform(shape=3)
    state = json.loads(json.dumps(mx.random.get_state()))
    first = mx.random.uniform(shape=3).asnumpy(), list(gluon.data.RandomSampler(9))
    mx.random.set_state(state)
    again = mx.random.uniform(shape=3).asnumpy(), list(gluon.data.RandomSampler(9))
    assert (first[0] == again[0]).all() and first[1] == again[1]
    for bad in (
        None,
        {},
        {"devices": [1], "shuffles": []},
        {"devices": [0, [[9, 0, 0, 0]]], "shuffles": []},
    ):
        with pytest.raises(mx.MXNetError, match="expected a state"):
            mx.random.set_state(bad)


# --- groups, freezing, clipping ------------------------------------------------------------------
def test_groups():
    net = dense()
    groups = [{"select": ".*bias", "wd_mult": 0}, {"select": "1", "lr_mult": 0.1}]
    trainer = gluon.Trainer(
        net.collect_params(), "sgd", {"wd": 1, "learning_rate": 1}, groups=groups
    )
    assert (net[0].bias.wd_mult, net[0].bias.lr_mult) == (0, 1)
    assert (net[1].bias.wd_mult, net[1].weight.lr_mult, net[0].weight.lr_mult) == (0, 0.1, 1)
    with autograd.record():
        y = net(nd.ones((1, 2))) * 0
    y.backward()
    before = net[1].weight.data().asnumpy()
    trainer.step(1)
    np.testing.assert_allclose(net[1].weight.data().asnumpy(), 0.9 * before, rtol=1e-5)
    assert not net[0].weight.data().asnumpy().any()


def test_freezing():
    net = dense()
    net[0].bias.grad_req = "add"
    assert net.freeze("0") == ["0.weight", "0.bias"]
    assert {each.grad_req for each in net[0].collect_params().values()} == {"null"}
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1})
    with autograd.record():
        y = net(nd.ones((1, 2)))
    y.backward()
    before = net[0].weight.data().asnumpy()
    trainer.step(1)
    assert (net[0].weight.data().asnumpy() == before).all()
    assert net.unfreeze() == ["0.weight", "0.bias"]
    assert (net[0].weight.grad_req, net[0].bias.grad_req) == ("write", "add")
    with pytest.raises(ValueError, match="no parameter matches 'x'; there are '0.weight'"):
        net.freeze("x")


@pytest.mark.parametrize("contexts", [1, 2])
def test_clipping(contexts):
    param = gluon.Parameter("w", shape=(2,))
    param.initialize("zeros", ctx=[mx.cpu(i) for i in range(contexts)])
    settings = {"learning_rate": 1}
    trainer = gluon.Trainer([param], "sgd", settings, clip_global_norm=1)
    for factor, wanted in ((10, [-0.6, -0.8]), (0.01, [-0.63, -0.84])):
        with autograd.record():
            losses = [
                (each * nd.array([3, 4], ctx=each.context)).sum() * factor / contexts
                for each in param.list_data()
            ]
        autograd.backward(losses)
        trainer.step(1)
        for each in param.list_data():
            np.testing.assert_allclose(each.asnumpy(), wanted, rtol=1e-5)
    with pytest.raises(ValueError, match="clip_global_norm must be greater than 0"):
        gluon.Trainer([param], "sgd", clip_global_norm=0)


def test_accumulated_gradients_are_zeroed_on_request():
    param = gluon.Parameter("w", shape=(1,), grad_req="add")
    param.initialize("zeros")
    trainer = gluon.Trainer([param], "sgd", {"learning_rate": 1})
    for _ in range(2):
        for _ in range(2):
            with autograd.record():
                y = param.data() * 3
            y.backward()
        trainer.step(2, zero_grad=True)
    assert param.data().asscalar() == -6 and param.grad().asscalar() == 0


def test_the_working_folder_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gluon.save_training("a", dense())
    assert os.listdir(tmp_path) == ["a"]
