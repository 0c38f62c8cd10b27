"""Gradients of each sample, against a loop over the samples."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn


def looped(net, loss, data, *labels):
    """The same, one sample at a time."""
    rows = {}
    for i in range(data[0].shape[0]):
        for each in net.collect_params().values():
            if each.grad_req != "null":
                each.zero_grad()
        with autograd.record():
            value = loss(net(*[each[i : i + 1] for each in data]), *[y[i : i + 1] for y in labels])
        value.backward()
        for name, each in net._collect_params_with_prefix().items():
            if each.grad_req != "null":
                grad = each.grad().tostype("default").asnumpy().copy()
                rows.setdefault(name, []).append(grad)
    return {name: np.stack(each) for name, each in rows.items()}


def square(out, *labels):
    """A loss with the samples on axis 0 alone."""
    return (out.reshape((out.shape[0], -1)) ** 2).sum(axis=1)


def check(net, data, loss=square, labels=(), rtol=1e-3):
    data = data if isinstance(data, list) else [data]
    net.initialize(mx.init.Normal(0.5))
    net(*data)  # shapes
    found = gluon.per_sample_gradients(net, loss, data, *labels)
    batch = {
        name: each.grad().tostype("default").asnumpy().copy()
        for name, each in net._collect_params_with_prefix().items()
        if each.grad_req != "null"
    }
    wanted = looped(net, loss, data, *labels)
    assert found.keys() == wanted.keys()
    # A bias of keys has no effect on attention: its gradient is the rounding of the others'.
    least = 1e-2 * max(abs(each).max() for each in wanted.values()) + 1e-6
    for name, each in found.items():
        each, scale = each.asnumpy(), max(abs(wanted[name]).max(), least)
        assert each.shape == wanted[name].shape
        np.testing.assert_allclose(each / scale, wanted[name] / scale, rtol, 1e-4)
        np.testing.assert_allclose(each.sum(0) / scale, batch[name] / scale, 1e-3, 1e-3)


LAYERS = {
    "dense": (lambda: nn.Dense(3), (4, 2, 5)),
    "dense of the last axis": (lambda: nn.Dense(3, flatten=False, activation="tanh"), (4, 2, 6, 5)),
    "dense without bias": (lambda: nn.Dense(3, use_bias=False, activation="sigmoid"), (4, 5)),
    "conv1": (lambda: nn.Conv1D(4, 3, padding=1, activation="tanh"), (3, 2, 7)),
    "conv2": (lambda: nn.Conv2D(4, (3, 2), strides=(2, 1), padding=(1, 0)), (3, 2, 7, 6)),
    "conv2 dilated": (lambda: nn.Conv2D(4, 3, dilation=2, use_bias=False), (3, 2, 7, 6)),
    "conv2 in groups": (lambda: nn.Conv2D(6, 3, groups=2, activation="softrelu"), (3, 4, 5, 5)),
    "depthwise": (lambda: nn.Conv2D(4, 3, groups=4), (3, 4, 5, 5)),
    "conv2 of channels last": (lambda: nn.Conv2D(4, 3, layout="NHWC"), (3, 6, 5, 2)),
    "conv3": (lambda: nn.Conv3D(3, 2), (2, 2, 4, 3, 3)),
    "transposed1": (lambda: nn.Conv1DTranspose(4, 3, strides=2), (3, 2, 5)),
    "transposed2": (
        lambda: nn.Conv2DTranspose(4, 3, 2, 1, output_padding=1, activation="tanh"),
        (3, 2, 4, 5),
    ),
    "transposed in groups": (lambda: nn.Conv2DTranspose(4, 3, groups=2), (3, 4, 4, 5)),
    "transposed3": (lambda: nn.Conv3DTranspose(3, 2), (2, 2, 3, 3, 3)),
    "layer norm": (lambda: nn.LayerNorm(), (3, 4, 5)),
    "layer norm of axis 1": (lambda: nn.LayerNorm(axis=1), (3, 4, 5)),
    "layer norm without beta": (lambda: nn.LayerNorm(center=False), (3, 4, 5)),
    "layer norm without gamma": (lambda: nn.LayerNorm(scale=False), (3, 4, 5)),
    "group norm": (lambda: nn.GroupNorm(2), (3, 4, 5, 2)),
    "instance norm": (lambda: nn.InstanceNorm(), (3, 4, 5)),
    "instance norm of axis 2": (lambda: nn.InstanceNorm(axis=2, scale=True), (3, 4, 5)),
    "rms norm": (lambda: nn.RMSNorm(), (3, 4, 5)),
    "batch norm by running statistics": (lambda: nn.BatchNorm(use_global_stats=True), (3, 4, 5)),
    "batch norm of the last axis": (
        lambda: nn.BatchNorm(axis=-1, use_global_stats=True, scale=False),
        (3, 4, 5),
    ),
}


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, hybrid, rng):
    made, shape = LAYERS[name]
    net = nn.HybridSequential()
    net.add(made(), nn.HybridLambda("tanh"))
    if hybrid:
        net.hybridize()
    check(net, nd.array(rng.normal(size=shape)))


@pytest.mark.parametrize("sparse", [False, True])
def test_embedding(sparse, rng):
    net = nn.HybridSequential()
    net.add(nn.Embedding(6, 3, sparse_grad=sparse), nn.Dense(2, activation="tanh"))
    check(net, nd.array(rng.integers(0, 6, (4, 5))))


def lenet():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.MaxPool2D(2), nn.GroupNorm(2), nn.Flatten())
    net.add(nn.Dense(6, activation="tanh"), nn.LayerNorm(), nn.Dense(3))
    return net


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_network_with_a_loss_of_labels(hybrid, rng):
    net = lenet()
    if hybrid:
        net.hybridize()
    data, label = nd.array(rng.normal(size=(5, 1, 10, 10))), nd.array(rng.integers(0, 3, 5))
    check(net, data, gluon.loss.SoftmaxCrossEntropyLoss(), [label])


def test_a_transformer(rng):
    net = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0)

    def cubes(out):
        """The squares of what LayerNorm gives have a constant sum: gradients are rounding there."""
        return (out.reshape((out.shape[0], -1)) ** 3).sum(axis=1)

    check(net, nd.array(rng.normal(size=(3, 5, 8))), cubes)


class Twice(gluon.HybridBlock):
    """A layer called twice, a parameter shared, two inputs."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Dense(4, in_units=4, activation="tanh")
        self.same = nn.Dense(4, in_units=4, params=self.layer.params)

    def hybrid_forward(self, F, x, y):
        return self.layer(self.layer(x) + y) * self.same(y)


@pytest.mark.parametrize("hybrid", [False, True])
def test_layers_called_twice_and_shared_parameters(hybrid, rng):
    net = Twice()
    if hybrid:
        net.hybridize()
    check(net, [nd.array(rng.normal(size=(3, 4))) for _ in range(2)])


def test_layers_that_nothing_reads(rng):
    class Idle(gluon.Block):
        def __init__(self):
            super().__init__()
            self.layer, self.idle = nn.Dense(4, in_units=4), nn.Dense(2, in_units=4)
            self.never = nn.Dense(2, in_units=4)

        def forward(self, x):
            self.idle(x)
            return self.layer(x)

    net = Idle()
    net.initialize()
    found = gluon.per_sample_gradients(net, square, nd.array(rng.normal(size=(3, 4))))
    assert [n for n, each in found.items() if each.asnumpy().any()] == [
        "layer.weight",
        "layer.bias",
    ]
    assert found["never.weight"].shape == (3, 2, 4)


def test_frozen_and_added_gradients(rng):
    net, data = lenet(), nd.array(rng.normal(size=(3, 1, 10, 10)))
    net.initialize()
    net(data)
    net.freeze("0.weight")
    net.freeze("4")
    for each in net[6].collect_params().values():
        each.grad_req = "add"
    for times in (1, 2):
        found = gluon.per_sample_gradients(net, square, data)
        assert "0.weight" not in found and "0.bias" in found and "4.bias" not in found
        whole = net[6].weight.grad().asnumpy()
        np.testing.assert_allclose(found["6.weight"].asnumpy().sum(0) * times, whole, 1e-3, 1e-3)


def test_dtypes_and_arrays_of_mx_np(rng):
    for dtype in ("float64", "float16"):
        net = lenet()
        net.cast(dtype)
        net.initialize()
        found = gluon.per_sample_gradients(
            net, square, nd.array(rng.normal(size=(3, 1, 10, 10)), dtype=dtype)
        )
        assert {each.dtype for each in found.values()} == {np.dtype(dtype).type}
    net = lenet()
    net.initialize()
    x = rng.normal(size=(3, 1, 10, 10)).astype("f")
    plain = gluon.per_sample_gradients(net, square, nd.array(x))
    found = gluon.per_sample_gradients(net, square, mx.np.array(x))
    for name, each in found.items():
        assert isinstance(each, mx.np.ndarray)
        np.testing.assert_allclose(each.asnumpy(), plain[name].asnumpy(), 1e-4, 1e-4)


class Tied(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)

    def forward(self, x):
        return nd.dot(self.table(x), self.table.weight.data(), transpose_b=True)


class Loose(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.scale = self.params.get("scale", shape=(1,), init="ones")

    def hybrid_forward(self, F, x, scale):
        return F.broadcast_mul(x, scale)


def test_what_is_refused(rng):
    x = nd.array(rng.normal(size=(3, 4)))

    def gradients(net, data=x, loss=square):
        net.initialize()
        return gluon.per_sample_gradients(net, loss, data)

    with pytest.raises(
        mx.MXNetError, match="do not add up to that of the batch for parameter '.*we"
    ):
        gradients(Tied(), nd.array([[1, 2], [3, 4]]))
    for net in (Loose(), nn.BatchNormReLU(), nn.PReLU(), nn.WeightNorm(nn.Dense(2))):
        with pytest.raises(
            ValueError, match=r"\(\w+\) is a layer that it does not know, and trains"
        ):
            gradients(net)
    with pytest.raises(ValueError, match=r"\(BatchNorm\) mixes the samples of a batch"):
        gradients(nn.BatchNorm())
    with pytest.raises(
        ValueError, match="the loss has shape .1,., and axis 0 is to be that of the 3"
    ):
        gradients(nn.Dense(2), loss=lambda out: out.mean())
    with pytest.raises(TypeError, match="the loss must be an NDArray, got 3"):
        gradients(nn.Dense(2), loss=lambda out: 3)
    rows = nn.HybridSequential()
    rows.add(nn.HybridLambda(lambda F, x: F.reshape(x, shape=(-1, 2))), nn.Dense(2))
    with pytest.raises(ValueError, match="is called with an array of shape .6, 2., and axis 0"):
        gradients(rows)
    with pytest.raises(TypeError, match="data is an NDArray, or a list of them, got 3"):
        gradients(nn.Dense(2), 3)
    with pytest.raises(TypeError, match="takes a Block, got 3"):
        gluon.per_sample_gradients(3, square, x)
    net = nn.Dense(2, in_units=4)
    net.initialize()
    with pytest.raises(ZeroDivisionError, match="division"):
        gluon.per_sample_gradients(net, lambda out: 1 / 0, x)
    assert not net._forward_hooks
