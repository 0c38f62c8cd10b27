"""cynet.gluon.model_zoo.vision against MXNet 1.9.1: names, shapes, operators, outputs, training.

Expected values: tests/fixtures/model_zoo.py.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.gluon.model_zoo import vision
from tests.fixtures import gluon_weights as weights

FOUND = json.loads(Path(weights.__file__).with_name("model_zoo.json").read_text())
FUNCTIONS = {
    "inceptionv3": "inception_v3",
    **{f"mobilenetv2_{m}": f"mobilenet_v2_{m}" for m in ("0.25", "0.5", "0.75", "1.0")},
}


def digest(lines):
    return hashlib.sha1("\n".join(lines).encode()).hexdigest()[:10]


def initializer(param):
    dumps = getattr(param.init, "dumps", None)
    return param.init if dumps is None else dumps()


@pytest.mark.parametrize("name", FOUND["structure"])
def test_structure(name):
    """The table of MXNet's networks: arrays, elements, names, shapes, operators' names."""
    net = vision.get_model(name, prefix="m_")
    size = 299 if name == "inceptionv3" else 224
    net.infer_shape(mx.nd.zeros((1, 3, size, size)))
    params = net._collect_params_with_prefix()
    nodes = json.loads(net(mx.sym.var("data")).tojson())["nodes"]
    assert {
        "arrays": len(params),
        "numbers": int(sum(np.prod(each.shape) for each in params.values())),
        "structural": digest(sorted(f"{k} {v.shape}" for k, v in params.items())),
        "prefixed": digest(f"{k} {v.shape}" for k, v in net.collect_params().items()),
        "operators": digest(f"{n['name']} {n['op']}" for n in nodes if n["op"] != "null"),
        "initializers": digest(f"{k} {initializer(v)}" for k, v in params.items()),
    } == FOUND["structure"][name]


@pytest.mark.parametrize("name", FOUND["output"])
def test_outputs(name):
    """Scores from the weights and images that MXNet had, within float32's rounding; by operators
    and by the graph."""
    net = vision.get_model(name, classes=10)
    net.initialize()
    data = mx.nd.array(weights.images((2, 3, FOUND["size"][name], FOUND["size"][name])))
    net(data)
    weights.fill(mx, net)
    wanted = np.array(FOUND["output"][name])
    for _ in range(2):
        error = np.abs(net(data).asnumpy() - wanted).max() / np.abs(wanted).max()
        assert error < 1e-4
        net.hybridize()


def test_export(tmp_path):
    """The files of `export` give the same scores as a SymbolBlock and as a Module."""
    net = vision.get_model("resnet18_v1", classes=10, prefix="m_")
    net.initialize(mx.init.Xavier())
    data = mx.nd.array(weights.images((2, 3, 32, 32)))
    net.hybridize()
    wanted = net(data).asnumpy()
    path = str(tmp_path / "net")
    net.export(path, epoch=3)
    files = f"{path}-symbol.json", f"{path}-0003.params"
    block = mx.gluon.SymbolBlock.imports(files[0], ["data"], files[1])
    np.testing.assert_allclose(block(data).asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    module = mx.mod.Module.load(path, 3, label_names=None)
    module.bind([("data", data.shape)], for_training=False)
    module.forward(mx.io.DataBatch([data]), is_train=False)
    np.testing.assert_allclose(module.get_outputs()[0].asnumpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FOUND["gradients"])
def test_gradients(name):
    """Norms of all gradients of a loss in training, in float64."""
    net = vision.get_model(name, classes=10, **FOUND["settings"][name])
    net.initialize()
    net.cast("float64")
    data = mx.nd.array(weights.images((4, 3, 64, 64)), dtype="float64")
    label = mx.nd.array([0, 1, 2, 3], dtype="float64")
    net(data)
    weights.fill(mx, net)
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    with mx.autograd.record():
        value = loss(net(data), label)
    value.backward()
    params = net._collect_params_with_prefix().values()
    grads = [each.grad().asnumpy() for each in params if each.grad_req != "null"]
    norms = [float(np.linalg.norm(each)) for each in grads]
    wanted = FOUND["gradients"][name]
    np.testing.assert_allclose(norms, wanted, rtol=1e-5, atol=1e-9 * max(wanted))


@pytest.mark.parametrize("name", FOUND["structure"])
def test_functions_of_the_same_name(name):
    """``vision.resnet18_v1()`` and ``get_model('resnet18_v1')`` make one class and one prefix."""
    function = FUNCTIONS.get(name, name).replace(".", "_")
    made = getattr(vision, function)(classes=3, prefix="m_")
    named = vision.get_model(name, classes=3, prefix="m_")
    assert type(made) is type(named)
    assert list(made.collect_params()) == list(named.collect_params())
    assert getattr(vision, type(made).__name__) is type(made)


def test_default_prefixes():
    with mx.name.NameManager():
        prefixes = [
            vision.get_model(name).prefix
            for name in (
                "resnet18_v1",
                "resnet18_v2",
                "resnet34_v1",
                "vgg11",
                "alexnet",
                "densenet121",
                "squeezenet1.0",
                "mobilenet1.0",
                "mobilenetv2_1.0",
                "inceptionv3",
            )
        ]
    assert prefixes == [
        "resnetv10_",
        "resnetv20_",
        "resnetv11_",
        "vgg0_",
        "alexnet0_",
        "densenet0_",
        "squeezenet0_",
        "mobilenet0_",
        "mobilenetv20_",
        "inception30_",
    ]


def test_names_of_mobilenet_v2():
    """Its parts have prefixes of their own, unlike those of the other networks."""
    with mx.name.NameManager():
        names = list(vision.mobilenet_v2_0_25().collect_params())
    assert names[0] == "mobilenetv20_features_conv0_weight"
    assert "mobilenetv20_features_linearbottleneck16_conv2_weight" in names
    assert names[-1] == "mobilenetv20_output_pred_weight"


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="there is no network 'nope'; there are ") as error:
        vision.get_model("nope")
    assert isinstance(error.value, mx.base.MXNetError)
    options = str(error.value).partition("there are ")[2].split(", ")
    assert options == sorted(options) and len(options) == 34 + 18  # MXNet's, and since
    assert set(FOUND["structure"]) < set(options)
    with pytest.raises(ValueError, match="no network 18"):
        vision.get_model(18)
    assert type(vision.get_model("ResNet18_v1")) is vision.ResNetV1


def test_what_there_is_none_of():
    with pytest.raises(
        AssertionError, match="num_layers must be one of 18, 34, 50, 101, 152, got 19"
    ):
        vision.get_resnet(1, 19)
    with pytest.raises(AssertionError, match="version must be one of 1, 2, got 3"):
        vision.get_resnet(3, 18)
    with pytest.raises(AssertionError, match="num_layers must be one of 11, 13, 16, 19, got 12"):
        vision.get_vgg(12)
    with pytest.raises(AssertionError, match="version must be '1.0' or '1.1', got '2.0'"):
        vision.SqueezeNet("2.0")
    with pytest.raises(AssertionError, match="2 numbers of layers need 3 of channels, got 2"):
        vision.ResNetV1(vision.BasicBlockV1, [2, 2], [64, 64])
    with pytest.raises(AssertionError, match="num_layers must be one of 50, 101, 152, got 18"):
        vision.get_resnet_v1b(18)
    with pytest.raises(AssertionError, match="size must be one of 's', 'b', 'l', got 'h'"):
        vision.get_vit("h", 14)
    with pytest.raises(AssertionError, match="size must be one of .*'base', got 'huge'"):
        vision.get_convnext("huge")
    with pytest.raises(AssertionError, match="number must be one of 0, 1, .* 7, got 8"):
        vision.get_efficientnet(8)
    with pytest.raises(AssertionError, match="2 numbers of layers and 3 of channels"):
        vision.ConvNeXt([2, 2], [64, 64, 64])
    with pytest.raises(AssertionError, match="2 numbers of layers and 3 of filters"):
        vision.VGG([2, 2], [64, 64, 64])
    with pytest.raises(TypeError, match="foo"):
        vision.resnet18_v1(foo=1)


def test_thumbnails():
    """A stem for 32x32: 32 pixels become 4x4 before the last pooling, not 1x1."""
    net = vision.get_resnet(1, 18, thumbnail=True, classes=10)
    assert [type(each).__name__ for each in net.features[:2]] == ["Conv2D", "HybridSequential"]
    net.initialize()
    data = mx.nd.zeros((1, 3, 32, 32))
    assert net(data).shape == (1, 10)
    assert net.features[:5](data).shape == (1, 512, 4, 4)


def test_multipliers_between_those_with_names():
    net = vision.get_mobilenet(0.3, classes=4)
    assert net.features[0]._channels == 9 and net.features[6]._channels == 19
    wide = vision.get_mobilenet_v2(1.5, classes=4)
    assert wide.features[20]._channels == 1920 and wide.features[0]._channels == 48


def test_dropout_of_densenet():
    net = vision.densenet121(dropout=0.2, prefix="m_")
    names = [type(each).__name__ for each in net.features[4][0][1]]
    assert names[-1] == "Dropout" and names.count("Conv2D") == 2


def test_files_fit_other_prefixes(tmp_path):
    """Structural names: weights of one network fill another one of any prefix."""
    first = vision.get_resnet(1, 18, thumbnail=True, classes=3, prefix="a_")
    first.initialize()
    data = mx.nd.array(weights.images((1, 3, 32, 32)))
    wanted = first(data).asnumpy()
    path = str(tmp_path / "weights.params")
    first.save_parameters(path)
    second = vision.get_resnet(1, 18, thumbnail=True, classes=3)
    second.load_parameters(path)
    np.testing.assert_array_equal(second(data).asnumpy(), wanted)
