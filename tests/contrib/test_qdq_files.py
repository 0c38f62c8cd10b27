"""Networks that were trained in few bits, as QDQ files: other runtimes give what cynet's int8
layers give."""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon
from cynet.contrib import quantization
from cynet.gluon import nn
from tests.contrib.test_quantization import lost

onnx = pytest.importorskip("onnx")
DIGITS = Path(__file__).parents[2] / "examples/image_classification/data/digits.npz"


def lenet():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, padding=1, activation="relu"), nn.MaxPool2D(2, 2))
    net.add(nn.Conv2D(16, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    net.add(nn.MaxPool2D(2, 2), nn.Dense(32, activation="relu"), nn.Dense(10))
    return net


class Shortcut(nn.HybridBlock):
    """A convolution beside a shortcut, whose sum is rounded."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2D(8, 3, padding=1, use_bias=False)
        self.norm = nn.BatchNorm()

    def hybrid_forward(self, F, x):
        return F.relu(self.norm(self.conv(x)) + x)


def residual():
    net = nn.HybridSequential()
    net.add(nn.Conv2D(8, 3, padding=1, activation="relu"), Shortcut(), Shortcut())
    net.add(nn.MaxPool2D(2, 2), nn.Dense(10))
    return net


def trained(net, x, y, epochs, rate):
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": rate})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    net.hybridize()
    for _ in range(epochs):
        for i in range(0, len(x), 64):
            with autograd.record():
                each = loss(net(x[i : i + 64]), y[i : i + 64])
            each.backward()
            trainer.step(64)


@pytest.fixture(
    scope="module",
    params=[(lenet, 8), (lenet, 4), (residual, 8)],
    ids=["lenet-8", "lenet-4", "residual-8"],
)
def file(request, tmp_path_factory):
    """(path, images, labels, what int8 layers give, what the rounded network gives)."""
    make, bits = request.param
    mx.random.seed(1)
    with np.load(DIGITS) as data:
        images = data["images"].reshape(-1, 1, 8, 8).astype("float32")
        labels = data["labels"]
    x, y = mx.nd.array(images[:1408]), mx.nd.array(labels[:1408])
    net = make()
    net.initialize(mx.init.Xavier())
    trained(net, x, y, 4, 0.005)
    rounded = quantization.prepare_qat(net, weight_bits=bits)
    trained(rounded, x, y, 2, 0.001)
    small = quantization.convert(rounded)
    small.hybridize()
    unseen = mx.nd.array(images[1408:])
    wanted, floats = small(unseen).asnumpy(), rounded(unseen).asnumpy()
    folder = tmp_path_factory.mktemp("qdq")
    small.export(str(folder / "net"))
    parts = [str(folder / f"net-{end}") for end in ("symbol.json", "0000.params")]
    path = mx.onnx.export_model(*parts, [unseen.shape], onnx_file_path=str(folder / "net.onnx"))
    names = [node.op_type for node in onnx.load(path).graph.node]
    assert names.count("QuantizeLinear") >= 3
    return path, unseen.asnumpy(), labels[1408:], wanted, floats


def by_onnxruntime(path, images, optimized):
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    if not optimized:
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: images})[0]


def by_openvino(path, images):
    openvino = pytest.importorskip("openvino", reason="pip install openvino")
    model = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return model([images])[model.output(0)]


@pytest.mark.parametrize("runtime", ["onnxruntime", "onnxruntime, int8 layers", "openvino"])
def test_other_runtimes_agree(file, runtime):
    path, images, labels, wanted, floats = file
    if runtime == "openvino":
        found = by_openvino(path, images)
    else:
        found = by_onnxruntime(path, images, "int8" in runtime)
    assert found.shape == wanted.shape
    # an integer that rounding puts a step aside moves what comes behind it
    assert lost(found, wanted) < 0.02
    assert (found.argmax(1) == wanted.argmax(1)).mean() > 0.99
    assert (found.argmax(1) == labels).mean() > 0.85
    assert lost(wanted, floats) < 0.03  # and it is what training saw
