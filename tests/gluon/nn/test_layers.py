"""Layers: values of MXNet 1.9.1 with weights of one, eager and hybridized."""

import json

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.gluon import nn
from tests.fixtures import layer_nodes

NODES = json.loads(layer_nodes.FILE.read_text())


@pytest.fixture(params=["eager", "hybrid"])
def run(request):
    def call(layer, *inputs, train=False):
        layer.initialize(mx.init.One())
        if request.param == "hybrid":
            layer.hybridize()
        inputs = [nd.array(each) for each in inputs]
        if train:
            with autograd.record():
                return layer(*inputs)
        return layer(*inputs)

    return call


def near(array, wanted, tolerance=1e-5):
    np.testing.assert_allclose(array.asnumpy(), wanted, rtol=tolerance, atol=1e-6)


@pytest.mark.parametrize(
    "layer, shape, wanted, weight",
    [
        (lambda: nn.Dense(5), (2, 3, 4), (2, 5), (5, 12)),
        (lambda: nn.Dense(5, flatten=False), (2, 3, 4), (2, 3, 5), (5, 4)),
        (lambda: nn.Conv1D(4, 3), (2, 3, 10), (2, 4, 8), (4, 3, 3)),
        (lambda: nn.Conv2D(4, 3), (2, 3, 8, 9), (2, 4, 6, 7), (4, 3, 3, 3)),
        (
            lambda: nn.Conv2D(4, (3, 2), strides=2, padding=1, dilation=2),
            (2, 3, 9, 9),
            (2, 4, 4, 5),
            (4, 3, 3, 2),
        ),
        (lambda: nn.Conv2D(6, 3, groups=3), (1, 3, 5, 5), (1, 6, 3, 3), (6, 1, 3, 3)),
        (lambda: nn.Conv3D(4, 3), (1, 2, 5, 6, 7), (1, 4, 3, 4, 5), (4, 2, 3, 3, 3)),
        (lambda: nn.Conv2DTranspose(4, 3), (1, 3, 5, 5), (1, 4, 7, 7), (3, 4, 3, 3)),
        (lambda: nn.Conv2DTranspose(4, 4, 2, 1), (1, 3, 5, 5), (1, 4, 10, 10), (3, 4, 4, 4)),
        (lambda: nn.Conv2DTranspose(4, 3, 2, 1, 1), (1, 3, 5, 5), (1, 4, 10, 10), (3, 4, 3, 3)),
        (lambda: nn.Conv1DTranspose(4, 3, strides=2), (1, 3, 5), (1, 4, 11), (3, 4, 3)),
    ],
)
def test_shapes(run, layer, shape, wanted, weight):
    layer = layer()
    assert run(layer, np.ones(shape)).shape == wanted
    assert layer.weight.shape == weight


@pytest.mark.parametrize(
    "layer, shape, wanted",
    [
        (lambda: nn.MaxPool2D(), (1, 1, 7, 7), (1, 1, 3, 3)),
        (lambda: nn.MaxPool2D(3, 2, 1), (1, 1, 8, 8), (1, 1, 4, 4)),
        (lambda: nn.MaxPool2D(3, 2, ceil_mode=True), (1, 1, 8, 8), (1, 1, 4, 4)),
        (lambda: nn.MaxPool2D(layout="NHWC"), (1, 8, 8, 3), (1, 4, 4, 3)),
        (lambda: nn.GlobalAvgPool1D(), (1, 2, 8), (1, 2, 1)),
        (lambda: nn.GlobalMaxPool3D(), (1, 2, 8, 8, 8), (1, 2, 1, 1, 1)),
        (lambda: nn.Flatten(), (2, 3, 4), (2, 12)),
        (lambda: nn.Flatten(), (3,), (3, 1)),
        (lambda: nn.GroupNorm(2), (2, 4, 3, 3), (2, 4, 3, 3)),
    ],
)
def test_shapes_without_weights(run, layer, shape, wanted):
    assert run(layer(), np.ones(shape)).shape == wanted


IMAGE = np.arange(9.0).reshape(1, 1, 3, 3)


@pytest.mark.parametrize(
    "layer, x, wanted",
    [
        (lambda: nn.Dense(2), [[1, 2, 3]], [[6, 6]]),
        (lambda: nn.Conv2D(1, 2), IMAGE, [[[[8, 12], [20, 24]]]]),
        (
            lambda: nn.Conv2DTranspose(1, 2, strides=2),
            np.arange(4.0).reshape(1, 1, 2, 2),
            [[[[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 3, 3], [2, 2, 3, 3]]]],
        ),
        (lambda: nn.MaxPool2D(2, 1), IMAGE, [[[[4, 5], [7, 8]]]]),
        (lambda: nn.AvgPool2D(2, 1), IMAGE, [[[[2, 3], [5, 6]]]]),
        (lambda: nn.AvgPool2D(2, 2, 1), IMAGE, [[[[0, 0.75], [2.25, 6]]]]),
        (lambda: nn.AvgPool2D(2, 2, 1, count_include_pad=False), IMAGE, [[[[0, 1.5], [4.5, 6]]]]),
        (lambda: nn.AvgPool2D(ceil_mode=True), IMAGE, [[[[2, 3.5], [6.5, 8]]]]),
        (lambda: nn.MaxPool2D(ceil_mode=True), IMAGE, [[[[4, 5], [7, 8]]]]),
        (
            lambda: nn.LayerNorm(),
            [[1, 2, 3], [2, 2, 8]],
            [[-1.2247356, 0, 1.2247356], [-0.7071064, -0.7071064, 1.4142127]],
        ),
        (
            lambda: nn.InstanceNorm(),
            [[[1, 2, 3], [2, 2, 8]]],
            [[[-1.2247356, 0, 1.2247356], [-0.7071064, -0.7071064, 1.4142127]]],
        ),
        (
            lambda: nn.GroupNorm(2),
            [[[1], [2], [3], [5]]],
            [[[-0.99998], [0.99998], [-0.999995], [0.999995]]],
        ),
        (lambda: nn.LeakyReLU(0.1), [-2, -0.5, 0, 0.5, 2], [-0.2, -0.05, 0, 0.5, 2]),
        (lambda: nn.ELU(), [-2, -0.5, 0, 0.5, 2], [-0.8646647, -0.3934694, 0, 0.5, 2]),
        (
            lambda: nn.SELU(),
            [-2, -0.5, 0, 0.5, 2],
            [-1.5201665, -0.6917582, 0, 0.5253505, 2.1014020],
        ),
        (
            lambda: nn.GELU(),
            [-2, -0.5, 0, 0.5, 2],
            [-0.0455001, -0.1542688, 0, 0.3457312, 1.9544998],
        ),
        (
            lambda: nn.Swish(),
            [-2, -0.5, 0, 0.5, 2],
            [-0.2384058, -0.1887703, 0, 0.3112297, 1.7615941],
        ),
        (
            lambda: nn.Activation("softrelu"),
            [-2, -0.5, 0, 0.5, 2],
            [0.1269281, 0.4740770, 0.6931472, 0.9740770, 2.1269279],
        ),
        (
            lambda: nn.Activation("softsign"),
            [-2, -0.5, 0, 0.5, 2],
            [-0.6666667, -0.3333333, 0, 0.3333333, 0.6666667],
        ),
        (lambda: nn.ELU(0.5), [-1], [-0.3160602]),
        (lambda: nn.Swish(2), [1], [0.8807970]),
        (lambda: nn.HybridLambda("tanh"), [0], [0]),
        (lambda: nn.HybridLambda(lambda F, x: F.relu(x) - 1), [-1], [-1]),
    ],
)
def test_values(run, layer, x, wanted):
    near(run(layer(), x), wanted)


def test_prelu():
    layer = nn.PReLU()
    layer.initialize()
    x = nd.array([-2, 3])
    x.attach_grad()
    with autograd.record():
        y = layer(x)
    y.backward()
    near(y, [-0.5, 3])
    near(x.grad, [0.25, 1])
    near(layer.alpha.grad(), [-2])


def test_layouts_and_kernels_are_checked():
    with pytest.raises(AssertionError, match="layout is 'NCHW' or 'NHWC' for 2 spatial axes"):
        nn.Conv2D(1, 1, layout="HWCN")
    with pytest.raises(AssertionError, match="kernel_size is an int or 2 ints"):
        nn.Conv2D(1, (1, 1, 1))
    with pytest.raises(AssertionError, match="mx.nd has no function 'nosuchop'"):
        nn.Lambda("nosuchop")


def test_convolution_of_images_whose_channels_come_last():
    """MXNet refuses it on the CPU; the operator has the layout, as in MXNet on GPUs."""
    x = np.random.default_rng(0).normal(size=(2, 5, 5, 3)).astype("float32")
    last, first = nn.Conv2D(4, 3, layout="NHWC"), nn.Conv2D(4, 3)
    for layer in (last, first):
        layer.initialize()
    first(nd.array(x.transpose(0, 3, 1, 2)))
    last(nd.array(x))
    assert last.weight.shape == (4, 3, 3, 3)
    last.weight.set_data(first.weight.data().asnumpy().transpose(0, 2, 3, 1))
    wanted = first(nd.array(x.transpose(0, 3, 1, 2))).asnumpy().transpose(0, 2, 3, 1)
    near(last(nd.array(x)), wanted, 1e-4)
    assert "transpose" not in last(mx.sym.var("data")).tojson()


class TestBatchNorm:
    x = [[1, 2], [3, 6]]

    def make(self, **kwargs):
        layer = nn.BatchNorm(**kwargs)
        layer.initialize()
        return layer

    def test_training(self):
        layer = self.make()
        with autograd.record():
            y = layer(nd.array(self.x))
        near(y, [[-0.999995, -0.9999988], [0.999995, 0.9999988]])
        y.backward(nd.array([[1, 0], [0, 0]]))
        near(layer.running_mean.data(), [0.2, 0.4])
        near(layer.running_var.data(), [1, 1.3])
        near(layer.gamma.grad(), [-0.999995, 0])
        near(layer.beta.grad(), [1, 0])

    def test_prediction(self):
        near(self.make()(nd.array(self.x)), [[0.999995, 1.99999], [2.99998, 5.99997]])

    def test_global_statistics(self):
        layer = self.make(use_global_stats=True)
        with autograd.record():
            y = layer(nd.array(self.x))
        y.backward()
        near(y, [[0.999995, 1.99999], [2.99998, 5.99997]])
        near(layer.running_mean.data(), [0, 0])
        near(layer.gamma.grad(), [3.99998, 7.99996])

    def test_without_scale(self):
        layer = nn.BatchNorm(scale=False, gamma_initializer=mx.init.Constant(5))
        layer.initialize()
        with autograd.record():
            y = layer(nd.array(self.x))
        near(y, [[-0.999995, -0.9999988], [0.999995, 0.9999988]])
        assert layer.gamma.grad_req == "null"
        layer = self.make(epsilon=0.5)
        with autograd.record():
            y = layer(nd.array(self.x))
        near(y, [[-0.8164966, -0.9428091], [0.8164966, 0.9428091]])

    def test_half(self):
        layer = self.make(in_channels=2)
        layer.cast("float16")
        assert layer.gamma.data().dtype == np.float32

    def test_channels_that_do_not_fit_are_refused(self):
        """MXNet takes 3 channels for 5."""
        with pytest.raises(mx.MXNetError, match="gamma or beta has shape"):
            self.make(in_channels=5)(nd.ones((2, 3)))


def test_layer_norm_of_another_size():
    layer = nn.LayerNorm(in_channels=10)
    layer.initialize()
    with pytest.raises(mx.MXNetError, match="10"):
        layer(nd.ones((2, 11)))


class TestEmbedding:
    def make(self, **kwargs):
        layer = nn.Embedding(3, 2, **kwargs)
        layer.initialize()
        layer.weight.set_data(np.arange(6).reshape(3, 2))
        return layer

    def test_rows(self):
        near(self.make()(nd.array([0, 2])), [[0, 1], [4, 5]])

    @pytest.mark.parametrize("sparse", [False, True])
    def test_gradient(self, sparse):
        layer = self.make(sparse_grad=sparse)
        with autograd.record():
            y = layer(nd.array([0, 0, 2]))
        y.backward()
        near(layer.weight.grad(), [[2, 2], [0, 0], [1, 1]])


def test_dropout(run):
    layer = nn.Dropout(0.75)
    x = np.ones((50, 50))
    assert set(run(layer, x, train=True).asnumpy().ravel()) == {0, 4}
    near(run(layer, x), x)
    near(run(nn.Dropout(0), x, train=True), x)
    rows = run(nn.Dropout(0.5, axes=(1,)), x, train=True).asnumpy()
    assert (rows == rows[:, :1]).all() and 0 < rows.mean() < 2
    found = []
    for _ in range(2):
        mx.random.seed(3)
        found.append(run(layer, x, train=True).asnumpy())
    assert (found[0] == found[1]).all()


def test_reflection_pad(run):
    out = run(nn.ReflectionPad2D(1), IMAGE).asnumpy()[0, 0]
    assert out[:2].tolist() == [[4, 3, 4, 5, 4], [1, 0, 1, 2, 1]]


@pytest.mark.parametrize(
    "layer, shape",
    [
        (lambda: nn.Dense(3), (2, 4)),
        (lambda: nn.Conv2D(3, 2), (2, 3, 4, 4)),
        (lambda: nn.Conv2DTranspose(3, 2), (2, 3, 4, 4)),
        (lambda: nn.LayerNorm(), (2, 4)),
        (lambda: nn.InstanceNorm(scale=True), (2, 3, 4)),
        (lambda: nn.GroupNorm(2), (2, 4, 3)),
        (lambda: nn.PReLU(), (2, 4)),
        (lambda: nn.BatchNorm(), (2, 4)),
        (lambda: nn.Embedding(4, 2), (2, 2)),
        (lambda: gluon.rnn.LSTM(3), (2, 2, 4)),
    ],
)
def test_gradients_that_are_added(layer, shape, rng):
    """Those that are written, and the sum of two, beside differences of the loss."""
    layer = layer()
    layer.initialize(mx.init.Normal(1))
    layer.cast("float64")
    index = isinstance(layer, nn.Embedding)
    x = rng.integers(0, 4, shape) if index else rng.normal(size=shape)
    x = nd.array(x, dtype="float64")
    params = layer.collect_params()
    found = {}
    layer(x)
    for param in params.values():  # no weight is 0 or 1, at which a gradient may hide
        param.set_data(nd.array(rng.normal(size=param.shape), dtype="float64"))
    head = nd.array(rng.normal(size=layer(x).shape), dtype="float64")
    for req, times in (("write", 1), ("add", 2)):
        params.setattr("grad_req", req)
        params.zero_grad()
        for _ in range(times):
            with autograd.record():
                y = layer(x)
            y.backward(head)
        found[req] = {n: p.grad().asnumpy() for n, p in params.items() if p.grad_req != "null"}
    assert found["write"].keys() == found["add"].keys() != set()
    for name, grad in found["write"].items():
        way, start = rng.normal(size=grad.shape), params[name].data().asnumpy()
        ends = []
        for step in (1e-5, -1e-5):
            params[name].set_data(nd.array(start + step * way, dtype="float64"))
            with autograd.train_mode():
                ends.append(float((layer(x) * head).sum().asscalar()))
        params[name].set_data(nd.array(start, dtype="float64"))
        slope = (ends[0] - ends[1]) / 2e-5
        # a bias in front of a normalization moves nothing
        np.testing.assert_allclose((grad * way).sum(), slope, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found["add"][name], 2 * grad, rtol=1e-10, atol=1e-12)
        assert np.abs(grad).max() > 0


@pytest.mark.parametrize("made", NODES)
def test_nodes_as_in_mxnet(made):
    """What a layer or a loss is traced to: operators, attributes, their order."""
    found = layer_nodes.nodes(mx, made)
    assert found == NODES[made]
