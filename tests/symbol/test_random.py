"""mx.sym.random: MXNet's names and JSON, shapes from use, parameters as symbols, running."""

import json

import numpy as np
import pytest

import cynet as mx


def test_names_and_attributes_are_mxnets():
    """What MXNet 1.9.1 writes for mx.sym.random.uniform(shape=(2,))."""
    node = json.loads(mx.sym.random.uniform(shape=(2,)).tojson())["nodes"][0]
    assert node["op"] == "_random_uniform"
    assert node["name"].startswith("_random_uniform")
    assert node["attrs"] == {"high": "1", "low": "0", "shape": "(2,)"}
    assert mx.sym.random.shuffle(mx.sym.var("a"), name="s").list_outputs() == ["s_output"]
    both = mx.sym.random.multinomial(mx.sym.var("a"), name="m")
    assert both.list_outputs() == ["m_output0", "m_output1"]
    assert mx.sym.uniform(name="u").list_outputs() == ["u_output"]
    sampled = mx.sym.sample_uniform(mx.sym.var("a"), name="n")
    assert sampled.list_arguments() == ["a", "n_high"]


def test_shapes():
    assert mx.sym.random.normal(shape=(2, 3)).infer_shape()[1] == [(2, 3)]
    total = mx.sym.random.normal() + mx.sym.var("x")
    assert total.infer_shape(x=(2, 3)) == ([(2, 3)], [(2, 3)], [])
    sample = mx.sym.random.gamma(mx.sym.var("a"), mx.sym.var("b"), shape=(4,))
    assert sample.infer_shape(a=(2,)) == ([(2,), (2,)], [(2, 4)], [])
    assert mx.sym.random.uniform_like(mx.sym.var("a")).infer_shape(a=(5,))[1] == [(5,)]


def test_types():
    assert mx.sym.random.uniform(shape=2, dtype="float64").infer_type()[1] == [np.float64]
    assert mx.sym.random.randint(0, 3, shape=2).infer_type()[1] == [np.int32]


@pytest.mark.parametrize(
    "name, args",
    [
        ("uniform", (0, 1)),
        ("normal", (0, 1)),
        ("exponential", (2,)),
        ("gamma", (1, 2)),
        ("poisson", (3,)),
        ("negative_binomial", (1, 0.5)),
        ("generalized_negative_binomial", (1, 2)),
        ("randint", (0, 9)),
    ],
)
def test_every_function_makes_its_operator(name, args):
    symbol = getattr(mx.sym.random, name)(*args, shape=(2,), name="r")
    node = json.loads(symbol.tojson())["nodes"][0]
    assert node["op"] == f"_random_{name}"
    assert symbol.list_arguments() == []
    assert mx.sym.random.randn(2, 3).infer_shape()[1] == [(2, 3)]


def test_errors():
    with pytest.raises(TypeError, match="low: Symbol, high: int"):
        mx.sym.random.uniform(mx.sym.var("a"), 1)
    with pytest.raises(ValueError, match="low must be a number"):
        mx.sym.random.uniform("a", 1)
    with pytest.raises(ValueError, match="scale must be positive"):
        mx.sym.random.exponential(0)
