"""Initializers: figures of MXNet 1.9.1, choice by name and attribute, what bad input gets."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, FormatError, NotFoundError, ShapeError
from tests.fixtures import training as given

EXPECTED = json.loads(Path(given.__file__).with_name("training.json").read_text())["initializer"]
INIT = mx.init


def filled(initializer, name, shape=(4, 4), attrs=None):
    """What an array of sevens becomes."""
    array = mx.nd.full(shape, 7)
    initializer(INIT.InitDesc(name, attrs), array)
    return array.asnumpy()


@pytest.mark.parametrize("name", given.INITIALIZERS)
def test_figures_are_those_of_mxnet(name, seed):
    kind, options = given.INITIALIZERS[name]
    initializer = getattr(INIT, kind)(*options)
    expected = EXPECTED[name]
    assert initializer.dumps() == expected["dumps"]
    mx.random.seed(seed)
    array = mx.nd.zeros(given.INIT_SHAPE)
    initializer._init_weight(INIT.InitDesc("w_weight"), array)
    values = array.asnumpy()
    # 43,200 random numbers: the standard error of the deviation is below 0.4 %, 8 of them allowed
    spread = max(expected["std"], 1e-6)
    assert abs(values.std() - expected["std"]) < 0.03 * spread + 1e-7
    assert abs(values.mean() - expected["mean"]) < 0.05 * spread + 1e-7
    if kind in ("Uniform", "Bilinear", "Constant", "Zero", "One", "LSTMBias") or (
        kind == "Xavier" and "in" not in name
    ):
        np.testing.assert_allclose(
            [values.min(), values.max()], [expected["min"], expected["max"]], rtol=0.01, atol=1e-6
        )


def test_bilinear_is_mxnets():
    array = mx.nd.zeros((2, 1, 4, 4))
    INIT.Bilinear()("up_weight", array)
    row = [0.1875, 0.5625, 0.5625, 0.1875]
    np.testing.assert_allclose(array.asnumpy()[1, 0, 1], row)


@pytest.mark.parametrize(
    "shape, down, across",  # MXNet 1.9.1's kernel is their outer product
    [
        ((3, 3), [0.25, 0.75, 0.75], [0.25, 0.75, 0.75]),
        ((5, 5), [1 / 3, 2 / 3, 1, 2 / 3, 1 / 3], [1 / 3, 2 / 3, 1, 2 / 3, 1 / 3]),
        ((3, 5), [1 / 3, 2 / 3, 1], [1 / 3, 2 / 3, 1, 2 / 3, 1 / 3]),
        ((2, 2), [1, 0], [1, 0]),
        ((1, 1), [1], [1]),
    ],
)
def test_bilinear_kernels_of_other_sizes(shape, down, across):
    array = mx.nd.zeros((2, 3, *shape))
    INIT.Bilinear()("up_weight", array)
    wanted = np.broadcast_to(np.outer(down, across), array.shape)
    np.testing.assert_allclose(array.asnumpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("shape", [(6, 4), (3, 2, 3, 3)])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_orthogonal(shape, kind):
    array = mx.nd.zeros(shape)
    INIT.Orthogonal(scale=2.0, rand_type=kind)("w_weight", array)
    matrix = array.asnumpy().reshape(shape[0], -1)
    product = matrix.T @ matrix if shape[0] > matrix.shape[1] else matrix @ matrix.T
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)


@pytest.mark.parametrize(
    "name, value",
    [
        ("w_weight", 2),
        ("w_bias", 0),
        ("bn_gamma", 1),
        ("bn_beta", 0),
        ("bn_moving_mean", 0),
        ("bn_moving_var", 1),
        ("bn_running_mean", 0),
        ("bn_running_var", 1),
        ("x_min", 0),
        ("x_max", 1),
    ],
)
def test_the_end_of_the_name_decides(name, value):
    assert (filled(INIT.Constant(2.0), name) == value).all()


def test_unknown_name():
    with pytest.raises(ArgumentError, match="'data'"):
        filled(INIT.Zero(), "data")


def test_attribute_wins():
    assert (filled(INIT.Zero(), "odd", attrs={"__init__": INIT.Constant(5).dumps()}) == 5).all()
    assert (filled(INIT.Zero(), "odd", attrs={"__init__": "one"}) == 1).all()
    bias = filled(INIT.Zero(), "l_bias", (8,), {"__init__": INIT.LSTMBias(2.0).dumps()})
    assert bias.tolist() == [0, 0, 2, 2, 0, 0, 0, 0]
    net = mx.sym.FullyConnected(
        mx.sym.var("data"), num_hidden=2, name="fc", weight=mx.sym.var("odd", init=INIT.Constant(3))
    )
    mod = mx.mod.Module(net, label_names=None)
    mod.bind([("data", (2, 2))])
    mod.init_params()
    assert (mod.get_params()[0]["odd"].asnumpy() == 3).all()


def test_mixed():
    mixed = INIT.Mixed(["fc1.*", ".*bias", ".*"], [INIT.Constant(3), INIT.Zero(), INIT.One()])
    assert (filled(mixed, "fc1_weight") == 3).all()
    assert (filled(mixed, "fc2_bias") == 0).all()
    assert (filled(mixed, "fc2_weight") == 1).all()
    with pytest.raises(ArgumentError, match="fc2_weight"):
        filled(INIT.Mixed(["fc1"], [INIT.Zero()]), "fc2_weight")
    with pytest.raises(ArgumentError, match="1 patterns"):
        INIT.Mixed(["a"], [])


def test_load(tmp_path):
    path = str(tmp_path / "a.params")
    mx.nd.save(path, {"arg:a_weight": mx.nd.full((3,), 4), "aux:b": mx.nd.ones(2)})
    load = INIT.Load(path, default_init=INIT.Zero())
    assert (filled(load, "a_weight", (3,)) == 4).all()
    assert (filled(load, "b", (2,)) == 1).all()
    assert (filled(load, "c_weight", (2,)) == 0).all()
    with pytest.raises(ShapeError, match="a_weight"):
        filled(load, "a_weight", (4,))
    with pytest.raises(NotFoundError, match="'q'"):
        filled(INIT.Load({}), "q")


def test_create():
    assert INIT.create("xavier", magnitude=2).magnitude == 2
    assert INIT.create('["constant", {"value": 2}]').value == 2
    zero = INIT.Zero()
    assert INIT.create(zero) is zero
    with pytest.raises(NotFoundError, match="xavier"):
        INIT.create("xavir")
    with pytest.raises(FormatError, match="initializer: expected JSON"):
        INIT.create("[broken")


def test_equality():
    assert INIT.Zero() == INIT.Zero()
    assert INIT.Xavier(magnitude=3) == INIT.Xavier()
    assert INIT.Uniform(0.1) != INIT.Uniform(0.2)
    assert INIT.Constant(1) != INIT.Constant(2)


def test_refused():
    with pytest.raises(ShapeError, match="v_weight"):
        filled(INIT.Xavier(), "v_weight", (4,))
    with pytest.raises(ArgumentError, match="factor_type"):
        INIT.Xavier(factor_type="odd")
    with pytest.raises(ArgumentError, match="rnd_type"):
        INIT.Xavier(rnd_type="odd")
    with pytest.raises(ArgumentError, match="rand_type"):
        INIT.Orthogonal(rand_type="odd")


def test_register_an_initializer():
    @INIT.register
    class Fives(INIT.Initializer):
        """Everything becomes 5."""

        def _init_weight(self, name, arr):
            arr[:] = 5

    assert (filled(INIT.create("fives"), "w_weight") == 5).all()


def test_same_seed_same_weights(seed):
    drawn = []
    for _ in range(2):
        mx.random.seed(seed)
        drawn.append(filled(INIT.Normal(1.0), "w_weight"))
    assert (drawn[0] == drawn[1]).all()


def test_verbosity(caplog):
    caplog.set_level("INFO")
    filled(INIT.One().set_verbosity(True), "w_weight")
    assert "w_weight" in caplog.text and "1.0" in caplog.text


@pytest.mark.parametrize("name", ["Zero", "FusedRNN", "Xavier", "InitDesc", "Mixed", "Load"])
def test_pickles_name_the_package(name):
    """So do those of the time when it was one module."""
    assert pickle.loads(f"ccynet.initializer\n{name}\n.".encode()) is getattr(INIT, name)
