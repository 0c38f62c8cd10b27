"""Walk-throughs of training: a loop by hand over two executors; Module.fit, predict, score."""

import logging
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

DIGITS = Path(__file__).parents[2] / "examples" / "image_classification" / "data" / "digits.npz"


@pytest.fixture(scope="module")
def digits():
    """1,797 real digits of 8 x 8 pixels: (train images, labels, test images, labels)."""
    with np.load(DIGITS) as file:
        images, labels = file["images"].astype("float32") / 16, file["labels"].astype("float32")
    test = np.arange(len(labels)) % 5 == 4
    return images[~test], labels[~test], images[test], labels[test]


@pytest.fixture
def images(mnist_dir, digits):
    """MNIST where it is at hand, else the digits."""
    if mnist_dir is None:
        return digits
    mnist = mx.test_utils.get_mnist(str(mnist_dir))
    return tuple(mnist[key] for key in ("train_data", "train_label", "test_data", "test_label"))


def test_a_loop_by_hand(images, rng):
    """Two executors share their weights: one trains, one predicts."""
    train_x, train_y, test_x, test_y = images
    train_x = train_x.reshape(len(train_x), -1)
    test_x = test_x.reshape(len(test_x), -1)
    data, label = mx.sym.Variable("data"), mx.sym.Variable("softmax_label")
    hidden = mx.sym.FullyConnected(
        data=data,
        weight=mx.sym.Variable("weight1"),
        bias=mx.sym.Variable("bias1"),
        num_hidden=128,
        name="layer1",
    )
    hidden = mx.sym.Activation(data=hidden, act_type="relu", name="act1")
    scores = mx.sym.FullyConnected(data=hidden, name="layer2", num_hidden=10)
    cost = mx.sym.SoftmaxOutput(data=scores, label=label, name="softmax")
    assert cost.list_arguments() == [
        "data",
        "weight1",
        "bias1",
        "layer2_weight",
        "layer2_bias",
        "softmax_label",
    ]

    batch = 128 if len(train_y) > 10000 else 32
    shapes = {"data": (batch, train_x.shape[1]), "softmax_label": (batch,)}
    executor = cost.simple_bind(ctx=mx.cpu(0), grad_req="write", **shapes)
    tester = cost.bind(ctx=mx.cpu(0), grad_req="null", args=executor.arg_arrays)
    assert set(executor.arg_dict) == set(cost.list_arguments())
    for array in executor.arg_arrays:
        array[:] = rng.standard_normal(array.shape) * 0.02

    rate = 0.128 / batch if len(train_y) > 10000 else 0.5 / batch
    for _ in range(2 if len(train_y) > 10000 else 15):
        order = rng.permutation(len(train_y))
        for start in range(0, len(order) - batch + 1, batch):
            rows = order[start : start + batch]
            executor.arg_dict["data"][:] = train_x[rows]
            executor.arg_dict["softmax_label"][:] = train_y[rows]
            executor.forward(is_train=True)
            executor.backward()
            for name, weight, grad in zip(
                cost.list_arguments(), executor.arg_arrays, executor.grad_arrays
            ):
                if name not in ("data", "softmax_label"):
                    weight[:] = weight - grad * rate

    correct = total = 0
    for start in range(0, len(test_y) - batch + 1, batch):
        tester.arg_dict["data"][:] = test_x[start : start + batch]
        tester.forward()
        found = tester.outputs[0].asnumpy().argmax(axis=1)
        correct += (found == test_y[start : start + batch]).sum()
        total += batch
    assert correct / total > 0.85


def lenet(size):
    """A small LeNet for images of size x size."""
    net = mx.sym.var("data")
    net = mx.sym.Activation(
        mx.sym.Convolution(net, kernel=(3, 3), num_filter=16, pad=(1, 1)), act_type="tanh"
    )
    net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(2, 2))
    net = mx.sym.Activation(
        mx.sym.Convolution(net, kernel=(3, 3), num_filter=32, pad=(1, 1)), act_type="tanh"
    )
    net = mx.sym.Pooling(net, pool_type="max", kernel=(2, 2), stride=(size // 8, size // 8))
    net = mx.sym.FullyConnected(mx.sym.flatten(net), num_hidden=64)
    net = mx.sym.FullyConnected(mx.sym.Activation(net, act_type="tanh"), num_hidden=10)
    return mx.sym.SoftmaxOutput(net, name="softmax")


def test_fit_predict_score(digits, seed, caplog):
    """The script of a user: iterators, fit with Speedometer, predict without labels, score."""
    caplog.set_level(logging.INFO)
    np.random.seed(seed)
    mx.random.seed(seed)
    train_x, train_y, test_x, test_y = digits
    train_x, test_x = train_x[:, None], test_x[:, None]
    batch_size = 50
    train_iter = mx.io.NDArrayIter(train_x, train_y, batch_size, shuffle=True)
    val_iter = mx.io.NDArrayIter(test_x, test_y, batch_size)
    network = lenet(8)
    assert network.infer_shape(data=(batch_size, 1, 8, 8))[1] == [(batch_size, 10)]
    model = mx.mod.Module(symbol=network, context=mx.cpu())
    model.fit(
        train_iter,
        eval_data=val_iter,
        optimizer="sgd",
        optimizer_params={"learning_rate": 0.1, "momentum": 0.9},
        eval_metric="acc",
        initializer=mx.init.Xavier(),
        num_epoch=6,
        batch_end_callback=mx.callback.Speedometer(batch_size, 10),
    )
    assert any("samples/sec" in record.getMessage() for record in caplog.records)

    prob = model.predict(mx.io.NDArrayIter(test_x, None, batch_size))
    assert prob.shape == (len(test_y), 10)
    accuracy = (prob.asnumpy().argmax(axis=1) == test_y).mean()
    metric = mx.metric.Accuracy()
    model.score(mx.io.NDArrayIter(test_x, test_y, batch_size), metric)
    assert accuracy > 0.9
    # score counts the rows that fill up the last batch, as MXNet does
    assert abs(metric.get()[1] - accuracy) < 0.03
    assert str(metric).startswith("EvalMetric: {'accuracy': 0.")
