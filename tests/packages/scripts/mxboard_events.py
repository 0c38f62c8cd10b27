"""mxboard 0.1.0 writes scalars, histograms, images, embeddings, texts, graphs during a training."""

import json

import mxboard
import mxnet as mx
import numpy as np
import pytest
from mxnet import autograd, gluon
from mxnet.gluon import nn


@pytest.fixture
def writer(tmp_path):
    mx.random.seed(1)
    with mxboard.SummaryWriter(logdir=str(tmp_path), flush_secs=1, verbose=False) as made:
        yield made
    made.close()
    for file in tmp_path.glob("*tfevents*"):  # none where all goes to files of their own
        assert file.stat().st_size > 60


def test_scalars(writer, tmp_path):
    for i in range(4):
        writer.add_scalar("loss", 1 / (i + 1), i)
        writer.add_scalar("both", {"a": i, "b": 2.0 * i}, i)
    writer.export_scalars(str(tmp_path / "scalars.json"))
    found = json.loads((tmp_path / "scalars.json").read_text())
    (rows,) = [rows for tag, rows in found.items() if tag.endswith("loss")]
    assert [row[2] for row in rows] == [1, 1 / 2, 1 / 3, 1 / 4] and len(found) == 3


@pytest.mark.parametrize("kind", [mx.nd.array, np.array])
def test_histogram(writer, kind):
    writer.add_histogram("weights", kind([0.0, 1, 2, 3]), 1, bins=10)
    writer.add_histogram("weights", kind([0.0, 1, 2, 3]), 2)


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 3, 8, 8), (8, 8)])
def test_image(writer, shape):
    writer.add_image("image", mx.nd.random.uniform(shape=shape), 1)
    writer.add_image("bytes", (mx.nd.random.uniform(shape=shape) * 255).astype("uint8"), 1)


def test_audio_and_text(writer):
    writer.add_audio("sound", mx.nd.random.uniform(-1, 1, shape=(400,)), 8000, 1)
    writer.add_text("text", "some words", 1)


def test_embedding(writer, tmp_path):
    writer.add_embedding(
        "vectors",
        mx.nd.random.normal(shape=(4, 5)),
        labels=mx.nd.array([0, 1, 2, 3]),
        images=mx.nd.random.uniform(shape=(4, 3, 8, 8)),
    )
    assert (tmp_path / "vectors" / "tensors.tsv").exists() or list(tmp_path.rglob("*.tsv"))


def test_precision_and_recall(writer):
    writer.add_pr_curve("pr", mx.nd.array([0, 1, 1, 0]), mx.nd.array([0.1, 0.8, 0.6, 0.4]), 10, 1)


def network():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.BatchNorm(), nn.Flatten(), nn.Dense(2))
    net.initialize()
    net.hybridize()
    net(mx.nd.ones((1, 1, 6, 6)))
    return net


def test_graph_of_a_network(writer):
    writer.add_graph(network())


def test_graph_of_a_symbol(writer):
    x = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    writer.add_graph(mx.sym.SoftmaxOutput(x, name="softmax"))


def test_training(writer):
    net, loss_fn = network(), gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x, y = mx.nd.random.normal(shape=(8, 1, 6, 6)), mx.nd.array([0, 1] * 4)
    for step in range(3):
        with autograd.record():
            loss = loss_fn(net(x), y)
        loss.backward()
        trainer.step(8)
        writer.add_scalar("loss", loss.mean().asscalar(), step)
        for name, each in net.collect_params().items():
            if each.grad_req != "null":
                writer.add_histogram(name, each.grad(), step, bins=20)
