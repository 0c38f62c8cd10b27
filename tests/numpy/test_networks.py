"""Gluon, losses, metrics, optimizers and files with arrays of mx.np."""

import copy
import pickle

import numpy as onp
import pytest

import cynet as mx
from cynet import autograd, gluon, np, npx
from cynet.gluon import nn


@pytest.fixture(autouse=True)
def semantics():
    npx.set_np()
    yield
    npx.reset_np()


def test_convolutions_and_files(tmp_path):
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(2, 2), nn.Flatten(),
        nn.Dropout(0.3), nn.Dense(3),
    )  # fmt: skip
    net.initialize()
    x = np.random.uniform(size=(2, 1, 8, 8))
    plain = net(x)
    net.hybridize()
    found = net(x)
    assert type(plain) is type(found) is np.ndarray
    onp.testing.assert_allclose(found.asnumpy(), plain.asnumpy(), rtol=1e-4, atol=1e-6)
    with autograd.record():
        loss = net(x).sum()
    loss.backward()
    file = str(tmp_path / "net.params")
    net.save_parameters(file)
    net.load_parameters(file)
    net.export(str(tmp_path / "net"))
    names = [str(tmp_path / f"net-{end}") for end in ("symbol.json", "0000.params")]
    again = gluon.SymbolBlock.imports(names[0], ["data"], names[1])
    onp.testing.assert_allclose(again(x).asnumpy(), net(x).asnumpy(), rtol=1e-4, atol=1e-6)


def test_recurrent_layers():
    layer = gluon.rnn.LSTM(5)
    layer.initialize()
    x = np.random.normal(size=(3, 2, 4))
    plain = layer(x)
    output, _ = layer(x, layer.begin_state(batch_size=2))
    layer.hybridize()
    found = layer(x)
    assert type(plain) is type(output) is type(found) is np.ndarray
    onp.testing.assert_allclose(found.asnumpy(), output.asnumpy(), rtol=1e-4, atol=1e-6)


def test_losses_and_metrics():
    p, label = np.random.normal(size=(4, 3)), np.array([0, 1, 2, 0])
    for loss in (gluon.loss.L2Loss(), gluon.loss.L1Loss(), gluon.loss.HuberLoss()):
        out = loss(p, p * 0.5)
        assert type(out) is np.ndarray and out.shape == (4,)
    assert gluon.loss.SoftmaxCrossEntropyLoss()(p, label).shape == (4,)
    accuracy = mx.metric.Accuracy()
    accuracy.update([np.array([1, 0])], [np.array([[0.0, 1], [1, 0]])])
    assert accuracy.get()[1] == 1
    norm = gluon.utils.clip_global_norm([np.ones(4)], 1.0)
    assert abs(float(norm) - 2) < 1e-6


@pytest.mark.parametrize("name", ["sgd", "adam", "rmsprop", "adagrad"])
def test_optimizers(name):
    net = nn.Dense(1)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), name, {"learning_rate": 0.1})
    losses = []
    for _ in range(20):
        with autograd.record():
            loss = ((net(np.ones((2, 3))) - 1) ** 2).mean()
        loss.backward()
        trainer.step(2)
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_a_forward_with_a_constant_and_a_scalar_result():
    class Net(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.rand = np.random.uniform(size=(5, 5))
            self.dense = nn.Dense(5, activation="relu")

        def forward(self, x):
            x = npx.relu(np.dot(self.dense(x), self.rand) + 1)
            x = self.dense(x)
            return x.sum() / (x.max() + 1) + npx.softmax(x)[:, 1:3].mean()

    net = Net()
    net.initialize()
    x = np.random.uniform(size=(2, 5))
    plain = net(x)
    net.hybridize()
    found = net(x)
    assert plain.shape == found.shape == ()
    assert abs(plain.item() - found.item()) < 1e-5


def test_functions_of_F():
    class Net(nn.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.np.exp(x) * 2 + F.npx.relu(x) + F.np.mean(x, axis=1, keepdims=True)

    net, x = Net(), np.ones((2, 3))
    plain = net(x)
    net.hybridize()
    onp.testing.assert_allclose(net(x).asnumpy(), plain.asnumpy(), rtol=1e-6)


def test_files_pickles_and_copies(tmp_path):
    file = str(tmp_path / "arrays")
    npx.save(file, {"a": np.ones(()), "b": np.array([True])})
    found = npx.load(file)
    assert found["a"].shape == () and found["b"].dtype == bool
    x = np.array([[1.0, 2]])
    for each in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert type(each) is np.ndarray and each.tolist() == x.tolist()
    parts = gluon.utils.split_and_load(np.ones((4, 2)), [mx.cpu(0), mx.cpu(1)])
    assert [type(each) for each in parts] == [np.ndarray] * 2


def test_parameters_are_arrays_of_np():
    param = gluon.Parameter("w", shape=(2, 3))
    param.initialize()
    param.set_data(np.ones((2, 3)))
    assert type(param.data()) is type(param.grad()) is np.ndarray
