"""Chapters of Dive into Deep Learning, first edition, with the functions of d2lzh 1.0.0."""

import random
import sys
import types

import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon, init, nd
from mxnet.gluon import loss as gloss
from mxnet.gluon import nn, rnn

sys.modules.setdefault("IPython", types.SimpleNamespace(display=None))  # only notebooks draw

import d2lzh as d2l  # noqa: E402


@pytest.fixture(autouse=True)
def seeds():
    mx.random.seed(1)
    np.random.seed(1)
    random.seed(1)


CORPUS = [i % 7 for i in range(600)]
CHARS = list("abcdefg")
INDEX = {char: i for i, char in enumerate(CHARS)}
HIDDEN = 16


def normal(*shape):
    return nd.random.normal(scale=0.1, shape=shape)


def parameters(gates):
    """Weights of `gates` gates, then those of the output."""
    made = []
    for _ in range(gates):
        made += [normal(len(CHARS), HIDDEN), normal(HIDDEN, HIDDEN), nd.zeros(HIDDEN)]
    made += [normal(HIDDEN, len(CHARS)), nd.zeros(len(CHARS))]
    for each in made:
        each.attach_grad()
    return made


def state_of(count):
    return lambda size, hidden, ctx: tuple(nd.zeros((size, hidden), ctx=ctx) for _ in range(count))


def gate(x, h, weights, act):
    return act(nd.dot(x, weights[0]) + nd.dot(h, weights[1]) + weights[2])


def plain_rnn(inputs, state, params):
    (h,), outputs = state, []
    for x in inputs:
        h = gate(x, h, params[:3], nd.tanh)
        outputs.append(nd.dot(h, params[-2]) + params[-1])
    return outputs, (h,)


def gru(inputs, state, params):
    (h,), outputs = state, []
    for x in inputs:
        update = gate(x, h, params[:3], nd.sigmoid)
        reset = gate(x, h, params[3:6], nd.sigmoid)
        fresh = gate(x, reset * h, params[6:9], nd.tanh)
        h = update * h + (1 - update) * fresh
        outputs.append(nd.dot(h, params[-2]) + params[-1])
    return outputs, (h,)


def lstm(inputs, state, params):
    (h, c), outputs = state, []
    for x in inputs:
        i, f, o = (gate(x, h, params[3 * k : 3 * k + 3], nd.sigmoid) for k in range(3))
        c = f * c + i * gate(x, h, params[9:12], nd.tanh)
        h = o * c.tanh()
        outputs.append(nd.dot(h, params[-2]) + params[-1])
    return outputs, (h, c)


def follows(out):
    """The perplexity is far below that of a guess among seven, and the words go on."""
    assert float(out.split("perplexity ")[-1].split(",")[0]) < 3, out
    assert " - abc" in out


KINDS = {"rnn": (plain_rnn, 1, 1), "gru": (gru, 3, 1), "lstm": (lstm, 4, 2)}


@pytest.mark.parametrize("random_batches", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_rnn_from_scratch(kind, random_batches, capsys):
    """The states of a batch are constants in the record of the next one."""
    network, gates, states = KINDS[kind]
    d2l.train_and_predict_rnn(
        network,
        lambda: parameters(gates),
        state_of(states),
        HIDDEN,
        len(CHARS),
        mx.cpu(),
        CORPUS,
        CHARS,
        INDEX,
        random_batches,
        60,
        10,
        2,
        1,
        8,
        60,
        12,
        ["abc"],
    )
    follows(capsys.readouterr().out)


@pytest.mark.parametrize("kind", [rnn.RNN, rnn.GRU, rnn.LSTM])
def test_rnn_of_gluon(kind, capsys):
    model = d2l.RNNModel(kind(HIDDEN), len(CHARS))
    d2l.train_and_predict_rnn_gluon(
        model, HIDDEN, len(CHARS), mx.cpu(), CORPUS, CHARS, INDEX, 80, 10, 2, 1, 8, 80, 12, ["abc"]
    )
    follows(capsys.readouterr().out)


def test_unrolled_by_hand():
    cell = rnn.LSTMCell(4)
    cell.initialize()
    inputs = [nd.random.normal(shape=(2, 3)) for _ in range(3)]
    state = cell.begin_state(batch_size=2)
    for _ in range(3):  # the same states again, each time in a record of its own
        with autograd.record():
            for x in inputs:
                y, state = cell(x, state)
            loss = (y * y).sum()
        loss.backward()
    assert np.isfinite(cell.i2h_weight.grad().asnumpy()).all()


def blobs():
    x = nd.random.normal(shape=(200, 1, 8, 8))
    y = (nd.random.uniform(shape=(200,)) > 0.5).astype("float32")
    x[:, :, :4] += y.reshape((-1, 1, 1, 1)) * 2
    return gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), 20, shuffle=True)


def test_linear_regression_from_scratch():
    w, b = nd.array([[2], [-3.4]]), 4.2
    x = nd.random.normal(shape=(200, 2))
    y = d2l.linreg(x, w, nd.array([b]))[:, 0]
    params = [nd.random.normal(scale=0.01, shape=(2, 1)), nd.zeros((1,))]
    for each in params:
        each.attach_grad()
    for _ in range(10):
        for xs, ys in d2l.data_iter(10, x, y):
            with autograd.record():
                loss = d2l.squared_loss(d2l.linreg(xs, *params), ys)
            loss.backward()
            d2l.sgd(params, 0.1, 10)
    np.testing.assert_allclose(params[0].asnumpy(), w.asnumpy(), atol=0.02)
    np.testing.assert_allclose(params[1].asscalar(), b, atol=0.02)


@pytest.mark.parametrize("own", [True, False])
def test_chapter_3(own, capsys):
    data, loss = blobs(), gloss.SoftmaxCrossEntropyLoss()
    if own:
        params = [normal(64, 2), nd.zeros(2)]
        for each in params:
            each.attach_grad()

        def net(x):
            return nd.dot(x.reshape((-1, 64)), params[0]) + params[1]

        d2l.train_ch3(net, data, data, loss, 3, 20, params, 0.1)
    else:
        net = nn.Sequential()
        net.add(nn.Dense(16, activation="relu"), nn.Dropout(0.2), nn.Dense(2))
        net.initialize(init.Normal(sigma=0.1))
        trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        d2l.train_ch3(net, data, data, loss, 3, 20, None, None, trainer)
    assert float(capsys.readouterr().out.split("test acc ")[-1]) > 0.9


@pytest.mark.parametrize("name", ["lenet", "resnet", "batch_norm"])
def test_chapter_5(name, capsys):
    net = nn.Sequential()
    if name == "lenet":
        net.add(
            nn.Conv2D(4, 3, activation="sigmoid"),
            nn.MaxPool2D(2, 2),
            nn.Dense(16, activation="sigmoid"),
            nn.Dense(2),
        )
    elif name == "resnet":
        net.add(
            nn.Conv2D(4, 3),
            d2l.Residual(4),
            d2l.Residual(8, use_1x1conv=True, strides=2),
            nn.GlobalAvgPool2D(),
            nn.Dense(2),
        )
    else:
        net.add(nn.Conv2D(4, 3), nn.BatchNorm(), nn.Activation("relu"), nn.Dense(2))
    net.initialize(init.Xavier(), ctx=mx.cpu(), force_reinit=True)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
    data = blobs()
    d2l.train_ch5(net, data, data, 20, trainer, mx.cpu(), 6)
    assert float(max(capsys.readouterr().out.split("test acc ")[1:]).split(",")[0]) > 0.5


def test_resnet18_on_two_devices(capsys):
    net = d2l.resnet18(2)
    ctx = [mx.cpu(0), mx.cpu(1)]
    net.initialize(init.Normal(sigma=0.01), ctx=ctx, force_reinit=True)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    d2l.train(blobs(), blobs(), net, gloss.SoftmaxCrossEntropyLoss(), trainer, ctx, 2)
    assert "train acc" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["sgd", "adagrad", "rmsprop", "adadelta", "adam"])
def test_chapter_7(name):
    x = nd.random.normal(shape=(300, 5))
    y = nd.dot(x, nd.array([1, 2, -1, 0.5, 3]))
    settings = {} if name == "adadelta" else {"learning_rate": 0.05}
    net = nn.Sequential()
    net.add(nn.Dense(1))
    net.initialize(init.Normal(sigma=0.01), force_reinit=True)
    trainer, loss = gluon.Trainer(net.collect_params(), name, settings), gloss.L2Loss()
    found = [loss(net(x), y).mean().asscalar()]
    for _ in range(3):
        for xs, ys in gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), 10, shuffle=True):
            with autograd.record():
                each = loss(net(xs), ys)
            each.backward()
            trainer.step(10)
        found.append(loss(net(x), y).mean().asscalar())
    assert found[-1] < found[0]


def test_custom_layers():
    class Centered(nn.Block):
        def forward(self, x):
            return x - x.mean()

    class Own(nn.Block):
        def __init__(self, units, inputs, **kwargs):
            super().__init__(**kwargs)
            self.weight = self.params.get("weight", shape=(inputs, units))
            self.bias = self.params.get("bias", shape=(units,))

        def forward(self, x):
            return nd.relu(nd.dot(x, self.weight.data()) + self.bias.data())

    net = nn.Sequential()
    net.add(Own(8, 4), Centered(), Own(1, 8))
    net.initialize()
    assert net(nd.random.uniform(shape=(2, 4))).shape == (2, 1)


def test_sentiment():
    """Embeddings, a bidirectional LSTM; then predict_sentiment."""
    from mxnet.contrib import text

    reviews = [["good"] * 4 + ["film"], ["bad"] * 4 + ["film"]] * 20
    counter = text.utils.count_tokens_from_str(" ".join(word for each in reviews for word in each))
    vocab = text.vocab.Vocabulary(counter, min_freq=5, reserved_tokens=["<pad>"])

    class Net(nn.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.embedding = nn.Embedding(len(vocab), 8)
            self.encoder = rnn.LSTM(8, num_layers=1, bidirectional=True, input_size=8)
            self.decoder = nn.Dense(2)

        def forward(self, inputs):
            outputs = self.encoder(self.embedding(inputs.T))
            return self.decoder(nd.concat(outputs[0], outputs[-1]))

    net = Net()
    net.initialize(init.Xavier())
    x = nd.array([vocab.to_indices(each) for each in reviews])
    y = nd.array([1, 0] * 20)
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(x, y), 8, shuffle=True)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    d2l.train(data, data, net, gloss.SoftmaxCrossEntropyLoss(), trainer, [mx.cpu()], 5)
    assert d2l.predict_sentiment(net, vocab, ["good", "good", "film"]) == "positive"
    assert d2l.predict_sentiment(net, vocab, ["bad", "bad", "film"]) == "negative"
