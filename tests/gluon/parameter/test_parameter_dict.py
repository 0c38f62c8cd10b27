"""ParameterDict: made on demand, shared, saved and loaded."""

import numpy as np
import pytest

import cynet as mx
from cynet import gluon, nd


def test_get_merges_shapes():
    params = gluon.ParameterDict("net_")
    weight = params.get("w", shape=(2, 0))
    assert params.get("w", shape=(0, 3)) is weight and weight.shape == (2, 3)
    assert list(params.keys()) == ["net_w"] and params["net_w"] is weight
    with pytest.raises(KeyError, match="there is no Parameter 'w'; there are 'net_w'"):
        params["w"]
    told = r"is there with shape=\(2, 3\), asked for is \(4, 3\)"
    with pytest.raises(AssertionError, match=told):
        params.get("w", shape=(4, 3))
    with pytest.raises(AssertionError, match="is there with dtype="):
        params.get("w", dtype="float16")
    assert repr(params) == (
        "net_ (\n  Parameter net_w (shape=(2, 3), dtype=<class 'numpy.float32'>)\n)"
    )
    assert "net_w" in params and list(params) == ["net_w"]
    assert len(params) == 1


def test_update_and_sharing():
    a, b = gluon.ParameterDict("a_"), gluon.ParameterDict("a_")
    weight = a.get("w", shape=(1,))
    b.get("w", shape=(1,))
    told = "two different parameters are named 'a_w'"
    with pytest.raises(AssertionError, match=told):
        a.update(b)
    shared = gluon.ParameterDict("a_", shared=a)
    assert shared.get("w") is weight and shared.prefix == "a_"


def test_constants():
    params = gluon.ParameterDict("a_")
    with pytest.raises(KeyError, match="there is no constant 'a_c'; give its value"):
        params.get_constant("c")
    const = params.get_constant("c", [1.0, 2.0])
    assert params.get_constant("c", [1.0, 2.0]) is const
    with pytest.raises(AssertionError, match="with another value"):
        params.get_constant("c", [1.0, 3.0])
    params.get("w", shape=(1,))
    with pytest.raises(AssertionError, match="expected a constant"):
        params.get_constant("w")


def test_setattr():
    params = gluon.ParameterDict()
    for name in "ab":
        params.get(name, shape=(1,))
    params.setattr("grad_req", "null")
    assert {each.grad_req for each in params.values()} == {"null"}


@pytest.fixture
def saved(tmp_path):
    params = gluon.ParameterDict("a_")
    params.get("w", shape=(3,))
    params.initialize(mx.init.Constant(4))
    return params, str(tmp_path / "a.params")


def test_files(saved):
    params, path = saved
    params.save(path)
    assert list(nd.load(path)) == ["a_w"]
    with pytest.raises(ValueError, match="parameter 'a_w' does not begin with 'b_'"):
        params.save(path, strip_prefix="b_")
    params.save(path, strip_prefix="a_")
    assert list(nd.load(path)) == ["w"]
    other = gluon.ParameterDict("b_")
    other.get("w", shape=(3,))
    other.load(path, restore_prefix="b_")
    assert other["b_w"].data().asnumpy().tolist() == [4, 4, 4]
    with pytest.raises(FileNotFoundError, match="no such file or directory"):
        other.load(path + "x")


def test_files_that_do_not_fit(saved):
    params, path = saved
    params.save(path)
    other = gluon.ParameterDict("a_")
    other.get("v", shape=(3,))
    with pytest.raises(AssertionError, match="parameter 'a_v' is missing in file: "):
        other.load(path)
    with pytest.raises(AssertionError, match="expected names of the parameters 'a_v'"):
        other.load(path, allow_missing=True)
    other.load(path, allow_missing=True, ignore_extra=True)
    shaped = gluon.ParameterDict("a_")
    shaped.get("w", shape=(2,))
    with pytest.raises(AssertionError, match=r"has shape \(2,\), the saved one \(3,\)"):
        shaped.load(path)
    half = gluon.ParameterDict("a_")
    half.get("w", shape=(3,), dtype="float16")
    told = "has dtype float16, the saved one float32; cast_dtype"
    with pytest.raises(AssertionError, match=told):
        half.load(path)
    half.load(path, cast_dtype=True)
    assert half["a_w"].data().dtype == np.float16
    half.load(path, cast_dtype=True, dtype_source="saved")
    assert half["a_w"].data().dtype == np.float32
