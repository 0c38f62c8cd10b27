"""The networks of examples/image_classification/symbols: the same in MXNet, with the same weights.

networks.npz is what tests/fixtures/image_networks.py computed in MXNet 1.9.1, in float64.
"""

import functools

import numpy as np
import pytest

import cynet as mx
from benchmarks.accuracy import choices_of, rebuild
from tests.fixtures import image_networks
from tests.fixtures.image_networks import CASES, HERE, bind, compute, errors, load, network, sample
from tests.long_runs import only_in_stress

FIXTURES = np.load(HERE / "networks.npz")
# of two forms of a network with a hundred million numbers one is enough for the normal run
TWICE = ("AlexNet, smooth", "VGG-16, smooth", "ResNet-50, version 1, smooth", "ResNet-50, smooth")
TWICE += ("VGG-16", "ResNet-50, version 1")  # VGG-11 and version 2 remain
LARGE = [name for name in CASES if name.endswith("224x224")]
QUICK = [name for name in CASES if name not in (*LARGE, *TWICE)]
CORNERS = ["AlexNet", "GoogLeNet", "Inception-BN", "ResNet-50", "ResNet-20"]
PREDICTED = [
    *((name, "float32") for name in QUICK if not name.endswith("smooth")),
    ("Inception-BN, small", "float64"),
    ("ResNet-20", "float64"),
]
KINDS = ("outputs and states", "norms of gradients", "elements of gradients")


def _expected(name):
    prefix = f"{name}/"
    return {key[len(prefix) :]: FIXTURES[key] for key in FIXTURES if key.startswith(prefix)}


def _error(name, dtype):
    expected = _expected(name)
    found = compute(mx, name, dtype)
    assert list(found["names"]) == list(expected["names"])
    error = errors(found, expected)
    print(name, dict(zip(KINDS, error)))
    return error


@pytest.fixture
def drawn(monkeypatch):
    """A test draws each parameter once."""
    monkeypatch.setattr(image_networks, "draw", functools.cache(image_networks.draw))


@pytest.mark.parametrize("name", QUICK)
def test_agrees_with_mxnet(name, drawn):
    check_in_float64(name)
    check_in_float32(name)
    if name in CORNERS:
        check_gradients_of_the_same_choices(name)
    for dtype in [dtype for each, dtype in PREDICTED if each == name]:
        check_predictions(name, dtype)


def check_in_float64(name):
    """In float64, where hardly a number lies so near to a corner that rounding moves it over."""
    error = _error(name, "float64")
    single = name.startswith("AlexNet")  # what MXNet computed in float32
    assert error[0] <= (1e-5 if single else 1e-6)
    assert error[1:].max() <= (1e-3 if single else 1e-5)


@only_in_stress
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", [*LARGE, *TWICE])
def test_agrees_with_mxnet_in_full_size(name, dtype):
    check_in_float64(name) if dtype == "float64" else check_in_float32(name)


def check_in_float32(name):
    """Within 1e-3; behind ReLU and maximum pooling, gradients within what MXNet's own float32 and
    float64 differ by (up to 0.04 in norms and 0.13 in elements, depending on the weights)."""
    error = _error(name, "float32")
    assert error[0] <= 1e-3
    corners = CASES[name][0] not in ("lstm", "lenet", "mlp") and not name.endswith("smooth")
    assert error[1] <= (0.05 if corners else 1e-3)
    assert error[2] <= (0.3 if corners else 1e-3)


@only_in_stress
@pytest.mark.parametrize("name", LARGE)
def test_gradients_of_the_same_choices_in_full_size(name):
    check_gradients_of_the_same_choices(name)


def _bound(name, dtype, choices=None):
    """What binds a network without gradients, or with them where its choices are given."""
    choices = choices or {}

    def bind(symbol):
        types = dict.fromkeys(symbol.list_arguments(), dtype)
        types.update((key, "int32") for key in choices if key.endswith("_place"))
        shapes = {"data": CASES[name][2], **{key: array.shape for key, array in choices.items()}}
        reqs = {key: "null" if key in choices or not choices else "write" for key in types}
        executor = symbol.simple_bind(mx.cpu(), reqs, types, **shapes)
        for key, array in [*executor.arg_dict.items(), *executor.aux_dict.items()]:
            array[:] = choices[key] if key in choices else image_networks.draw(key, array.shape)
        return executor

    return bind


def check_gradients_of_the_same_choices(name):
    """Which elements ReLU lets through and which are maxima are given, as float64 finds them: then
    float32 gives MXNet's gradients within 1e-3 (benchmarks/accuracy.py measures more)."""
    symbol = network(mx, name)
    plain, nodes = rebuild(mx, symbol)
    choices = choices_of(mx, plain, nodes, _bound(name, "float64"))
    given, _ = rebuild(mx, symbol, given=True)
    executor = _bound(name, "float32", choices)(given)
    executor.forward(is_train=True)
    executor.backward()
    expected = _expected(name)
    grads = [executor.grad_dict[str(key)].asnumpy() for key in expected["names"]]
    found = {"trained": executor.outputs[0].asnumpy(), "grads": np.array(list(map(sample, grads)))}
    expected = {key: expected[key] for key in ("trained", "grads", "names", "sizes")}
    error = errors(found, expected)
    print(name, dict(zip(KINDS, error)))
    assert error.max() <= 1e-3


def check_predictions(name, dtype):
    """Bound without gradients, when weights are packed; twice, and then in training mode."""
    expected = _expected(name)
    executor = bind(mx, name, dtype, "null")
    single = dtype == "float32" or name.startswith("AlexNet")
    for key in ("predicted", "predicted", "trained", "predicted"):
        found = executor.forward(is_train=key == "trained")[0].asnumpy()
        error = np.abs(found - expected[key]).max() / np.abs(expected[key]).max()
        print(name, key, error)
        # statistics of a few numbers, as behind the last pooling, enlarge what rounding did before
        assert error <= {"predicted": 1e-5, "trained": 1e-3}[key] * (1 if single else 1e-3)


@only_in_stress
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", LARGE)
def test_predictions_agree_with_mxnet_in_full_size(name, dtype):
    check_predictions(name, dtype)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("layers, size", [(20, 28), (50, 64)])
def test_resnet_in_float16(layers, size, version, rng):
    """Its weights are float16, its norms' parameters float32; what comes out is float32's."""
    shape, found = (3, size, size), []
    options = {"num_layers": layers, "image_shape": shape, "version": version}
    x = rng.standard_normal((8, *shape)).astype("f")
    values = {}
    for dtype in ("float32", "float16"):
        net = load(mx, "resnet").get_symbol(10, dtype=dtype, **options)
        executor = net.simple_bind(mx.cpu(), data=x.shape)
        for name, array in executor.arg_dict.items():
            if name.endswith("weight") and name not in values:
                fan = np.prod(array.shape[1:])
                values[name] = rng.standard_normal(array.shape) * np.sqrt(2 / fan)
            elif name.endswith("gamma"):
                values[name] = np.ones(array.shape)
            if name in values:
                array[:] = values[name]
            kind = np.float16 if name.startswith(("conv", "fc")) or "_conv" in name else np.float32
            assert array.dtype == (kind if dtype == "float16" else np.float32) or "_sc_" in name
        found.append(executor.forward(is_train=True, data=x)[0].asnumpy())
        executor.backward()
        for name, grad in executor.grad_dict.items():
            assert np.isfinite(grad.asnumpy()).all(), name
    assert found[1].dtype == np.float32
    # statistics of a few numbers enlarge what rounding did before
    assert np.abs(found[1] - found[0]).mean() < 0.02


@pytest.mark.parametrize(
    "name, millions",
    [("VGG-16", 138.36), ("GoogLeNet", 7.0), ("Inception-BN", 11.3), ("ResNet-50", 25.6)],
)
def test_number_of_parameters_for_imagenet(name, millions):
    """As the papers count them, with 1,000 classes at 224x224."""
    file, options, _ = CASES[name]
    symbol = load(mx, file).get_symbol(1000, **{**options, "image_shape": (3, 224, 224)})
    shapes, _, _ = symbol.infer_shape(data=(1, 3, 224, 224))
    sizes = dict(zip(symbol.list_arguments(), map(np.prod, shapes)))
    count = sum(size for key, size in sizes.items() if key not in ("data", "softmax_label"))
    assert round(count / 1e6, 2) == pytest.approx(millions, rel=5e-3)


@pytest.mark.parametrize(
    "file, options, message",
    [
        ("vgg", {"num_layers": 12}, "num_layers is 12; a VGG has 11, 13, 16 or 19"),
        ("resnet", {"num_layers": 51}, "up to 32x32 it must be 6n\\+2"),
        (
            "resnet",
            {"num_layers": 20, "image_shape": "3,64,64"},
            "more than 32x32 there are 18, 34, 50",
        ),
        ("resnet", {"version": 3}, "version is 3; a residual network has version 1 or 2"),
        ("resnet", {"dtype": "int8"}, "dtype is 'int8'; a residual network computes in float16"),
    ],
)
def test_wrong_options(file, options, message):
    with pytest.raises(ValueError, match=message):
        load(mx, file).get_symbol(**options)
