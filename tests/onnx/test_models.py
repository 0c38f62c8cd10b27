"""Whole networks through ONNX: onnxruntime, and what is read again, give what cynet gives."""

import sys
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.gluon import nn, rnn
from cynet.gluon.model_zoo import vision
from tests.long_runs import only_in_stress

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
EXAMPLES = Path(__file__).parents[2] / "examples" / "image_classification"
ZOO = {
    "resnet50_v1": 32,
    "mobilenetv2_1.0": 64,
    "densenet121": 224,
    "squeezenet1.1": 224,
    "vgg11_bn": 32,
    "convnext_tiny": 64,
    "efficientnet_b0": 64,
    "resnet50_v1b": 64,
    "vit_b_16": 224,
}
LARGE = ["convnext_tiny", "resnet50_v1", "resnet50_v1b", "vgg11_bn", "vit_b_16"]
SMALL = [name for name in ZOO if name not in LARGE]


def compute(path, feeds):
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def near(found, wanted, tolerance):
    assert np.abs(found - wanted).max() <= tolerance * np.abs(wanted).max()


@pytest.mark.parametrize("name", [*SMALL, *(pytest.param(n, marks=only_in_stress) for n in LARGE)])
def test_model_zoo(name, tmp_path):
    check_network(vision.get_model(name), ZOO[name], tmp_path)


@pytest.mark.parametrize(
    ("network", "settings"),
    [
        ("ConvNeXt", {"layers": (1, 2), "channels": (8, 16)}),
        (
            "VisionTransformer",
            {
                "patch_size": 8,
                "num_layers": 2,
                "units": 16,
                "num_heads": 4,
                "hidden_size": 24,
                "image_size": 32,
            },
        ),
    ],
)
def test_small_forms_of_the_model_zoo(network, settings, tmp_path):
    check_network(getattr(vision, network)(**settings), 32, tmp_path)


def check_network(net, size, tmp_path):
    """onnxruntime, and the file read again, give what the network gives."""
    mx.random.seed(1)
    net.initialize(mx.init.Xavier(magnitude=2))
    for param in net.collect_params(".*_scale").values():  # ConvNeXt begins near 0
        param.set_data(mx.nd.full(param.shape, 0.7))
    x = mx.nd.random.uniform(shape=(1, 3, size, size))
    for _ in range(2):  # statistics of BatchNorm
        with mx.autograd.record():
            net(mx.nd.concat(x, x * 0.5, dim=0))
    net.hybridize()
    wanted = net(x).asnumpy()
    net.export(str(tmp_path / "m"))
    path = mx.onnx.export_model(
        tmp_path / "m-symbol.json",
        tmp_path / "m-0000.params",
        [x.shape],
        onnx_file_path=tmp_path / "m.onnx",
        run_shape_inference=True,
    )
    near(compute(path, {"data": x.asnumpy()})[0], wanted, 1e-4)
    near(mx.onnx.import_to_gluon(path)(x).asnumpy(), wanted, 1e-5)


@pytest.mark.parametrize("name", ["lenet", "inception_bn"])
def test_symbols_of_the_examples(name, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    network = __import__(f"symbols.{name}", fromlist=[name]).get_symbol(num_classes=10)
    sys.modules.pop("symbols", None)
    shape = (2, 1, 28, 28) if name == "lenet" else (1, 3, 224, 224)
    module = mx.mod.Module(network)
    module.bind([("data", shape)], [("softmax_label", shape[:1])], for_training=False)
    module.init_params(mx.init.Xavier())
    x = mx.nd.random.uniform(shape=shape)
    module.forward(mx.io.DataBatch([x], [mx.nd.zeros(shape[0])]))
    wanted = module.get_outputs()[0].asnumpy()
    path = mx.onnx.export_model(
        network, list(module.get_params()), [shape], onnx_file_path=tmp_path / "m.onnx"
    )
    assert mx.onnx.get_model_metadata(path)["input_tensor_data"] == [("data", shape)]
    near(compute(path, {"data": x.asnumpy()})[0], wanted, 1e-4)
    near(mx.onnx.import_to_gluon(path)(x).asnumpy(), wanted, 1e-5)


class Language(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.embedding = nn.Embedding(20, 8)
            self.lstm = rnn.LSTM(6, num_layers=2, bidirectional=True)
            self.head = nn.Dense(20, flatten=False)

    def hybrid_forward(self, F, x, h, c):
        out, states = self.lstm(self.embedding(x), [h, c])
        return self.head(out), states[0], states[1]


def test_lstm(tmp_path):
    net = Language()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    shapes = [(7, 3), (4, 3, 6), (4, 3, 6)]
    words = mx.nd.array(np.random.RandomState(3).randint(0, 20, shapes[0]))
    states = [mx.nd.random.normal(shape=s) for s in shapes[1:]]
    wanted = [y.asnumpy() for y in net(words, *states)]
    net.export(str(tmp_path / "m"))
    network = mx.sym.load(str(tmp_path / "m-symbol.json"))
    path = mx.onnx.export_model(
        network, tmp_path / "m-0000.params", shapes, onnx_file_path=tmp_path / "m.onnx"
    )
    inputs = [n for n, _ in mx.onnx.get_model_metadata(path)["input_tensor_data"]]
    feeds = dict(zip(inputs, (x.asnumpy() for x in (words, *states))))
    for found, each in zip(compute(path, feeds), wanted):
        near(found, each, 1e-4)
    for found, each in zip(mx.onnx.import_to_gluon(path)(words, *states), wanted):
        near(found.asnumpy(), each, 1e-5)


def dense(tmp_path, **kwargs):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    rng = np.random.RandomState(0)
    weights = {"fc_weight": mx.nd.array(rng.randn(3, 4)), "fc_bias": mx.nd.array(rng.randn(3))}
    path = mx.onnx.export_model(
        net, weights, [(2, 4)], onnx_file_path=tmp_path / "d.onnx", **kwargs
    )
    return path, weights


def test_open_batch(tmp_path):
    path, weights = dense(tmp_path, dynamic=True)
    x = np.random.RandomState(1).randn(9, 4).astype("float32")
    wanted = x @ weights["fc_weight"].asnumpy().T + weights["fc_bias"].asnumpy()
    np.testing.assert_allclose(compute(path, {"data": x})[0], wanted, rtol=1e-5, atol=1e-6)
    assert mx.onnx.get_model_metadata(path)["input_tensor_data"] == [("data", (0, 4))]
    path, _ = dense(tmp_path, dynamic=True, dynamic_input_shapes=[("rows", 4)])
    np.testing.assert_allclose(compute(path, {"data": x})[0], wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="must have the axes of the inputs: data"):
        dense(tmp_path, dynamic=True, dynamic_input_shapes=[("rows",)])


def test_training_goes_on_after_reading(tmp_path):
    path, weights = dense(tmp_path)
    net, args, _ = mx.onnx.import_model(path)
    assert net.list_arguments() == ["data", "fc_weight", "fc_bias"]
    np.testing.assert_array_equal(args["fc_bias"].asnumpy(), weights["fc_bias"].asnumpy())
    block = mx.onnx.import_to_gluon(path)
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", {"learning_rate": 0.5})
    x = np.random.RandomState(2).randn(2, 4).astype("float32")
    with mx.autograd.record():
        loss = block(mx.nd.array(x)).sum()
    loss.backward()
    trainer.step(2)  # of sums over two rows
    found = {name: p.data().asnumpy() for name, p in block.collect_params().items()}
    steps = {"fc_weight": np.tile(x.sum(0), (3, 1)) / 4, "fc_bias": np.full(3, 0.5)}
    for name, step in steps.items():
        np.testing.assert_allclose(found[name], weights[name].asnumpy() - step, 1e-5, 1e-6)
    with mx.autograd.pause():
        assert block(mx.nd.array(x)).sum().asscalar() < loss.asscalar()


def test_refusals(tmp_path):
    x = mx.sym.var("data")
    with pytest.raises(ValueError, match="in_shapes has 0 shapes for the inputs data"):
        mx.onnx.export_model(mx.sym.relu(x), {}, onnx_file_path=tmp_path / "x.onnx")
    with pytest.raises(mx.MXNetError, match="operator gamma of node 'g' has no form in ONNX"):
        mx.onnx.export_model(
            mx.sym.gamma(x, name="g"), {}, [(2,)], onnx_file_path=tmp_path / "x.onnx"
        )
    with pytest.raises(TypeError, match="params is a file, a dict or a list"):
        mx.onnx.export_model(mx.sym.relu(x), 7, [(2,)], onnx_file_path=tmp_path / "x.onnx")
    with pytest.raises(FileNotFoundError, match="no such file or directory"):
        mx.onnx.import_model(tmp_path / "none.onnx")
    (tmp_path / "bad.onnx").write_bytes(b"\xff\xfe not a network")
    with pytest.raises(mx.MXNetError, match=r"expected an ONNX file, got .*bad\.onnx'"):
        mx.onnx.import_model(tmp_path / "bad.onnx")
    helper = onnx.helper
    info = [helper.make_tensor_value_info(n, 1, (2,)) for n in ("x", "y")]
    graph = helper.make_graph(
        [helper.make_node("NonZero", ["x"], ["y"], "n")], "g", *[[i] for i in info]
    )
    onnx.save(helper.make_model(graph), str(tmp_path / "kind.onnx"))
    with pytest.raises(mx.MXNetError, match="node 'n' of kind NonZero is not read"):
        mx.onnx.import_model(tmp_path / "kind.onnx")
    assert not (tmp_path / "x.onnx").exists()


@pytest.mark.parametrize("way", ["negative", "constant"])
def test_lengths_that_end_the_process(tmp_path, way):
    """The onnx package aborts over negative lengths."""
    helper = onnx.helper
    info = [helper.make_tensor_value_info(n, 1, s) for n, s in (("x", (3, 2)), ("y", None))]
    ends = {"b": [-1], "e": [-(2**63)], "a": [0], "s": [-1], "p": [-5, 0, 0, 0]}
    known = [helper.make_tensor(k, 7, (len(v),), v) for k, v in ends.items()]
    nodes = [helper.make_node("Slice", ["x", "b", "e", "a", "s"], ["y"], "n")]
    if way == "negative":
        nodes[0].input[0] = "cut"
        nodes.insert(0, helper.make_node("Pad", ["x", "p"], ["cut"], "pad"))
    else:
        value = helper.make_tensor("v", 1, (2,), [1.0, 2.0])
        value.dims[0] = -2
        nodes[0].input[0] = "v"
        nodes.insert(0, helper.make_node("Constant", [], ["v"], "c", value=value))
    graph = helper.make_graph(nodes, "g", *[[each] for each in info], known)
    path = tmp_path / "x.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), str(path))
    with pytest.raises(mx.errors.CynetError, match="gives the shape|has the shape"):
        mx.onnx.import_model(path)


def test_support_is_listed():
    assert {"Convolution", "RNN", "_plus_scalar"} <= set(mx.onnx.get_operator_support())
    with pytest.raises(ValueError, match="opset 13"):
        mx.onnx.get_operator_support(9)
    assert mx.contrib.onnx.export_model is mx.onnx.export_model
