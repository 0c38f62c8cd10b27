"""Checks of symbols: right ones pass, wrong ones fail."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError

UTILS = mx.test_utils


@pytest.fixture
def product():
    return mx.sym.var("x") * mx.sym.var("y")


TWOS, THREES, ONES = np.full((2, 2), 2.0), np.full((2, 2), 3.0), np.ones((2, 2))


@pytest.fixture(autouse=True)
def seeded(seed):
    np.random.seed(seed)


def test_forward(product):
    UTILS.check_symbolic_forward(product, [TWOS, THREES], [TWOS * 3])
    UTILS.check_symbolic_forward(product, {"x": TWOS, "y": THREES}, [TWOS * 3], dtype=np.float64)
    with pytest.raises(AssertionError, match=r"EXPECTED_.*FORWARD_"):
        UTILS.check_symbolic_forward(product, [TWOS, THREES], [ONES])
    with pytest.raises(ArgumentError, match="'x', 'y'"):
        UTILS.check_symbolic_forward(product, {"x": TWOS}, [ONES])
    with pytest.raises(ArgumentError, match="1 arrays"):
        UTILS.check_symbolic_forward(product, [TWOS], [ONES])


@pytest.mark.parametrize("grad_req", ["write", "add", "null"])
def test_backward(product, grad_req):
    UTILS.check_symbolic_backward(product, [TWOS, THREES], [ONES], {"x": THREES}, grad_req=grad_req)
    UTILS.check_symbolic_backward(
        product, [TWOS, THREES], [TWOS], [THREES * 2, TWOS * 2], grad_req=grad_req
    )
    if grad_req != "null":
        with pytest.raises(AssertionError, match="BACKWARD_y"):
            UTILS.check_symbolic_backward(
                product, [TWOS, THREES], [ONES], [THREES, ONES], grad_req=grad_req
            )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numeric_gradient(product, dtype, rng):
    location = {"x": rng.standard_normal((2, 3)), "y": rng.standard_normal((2, 3))}
    UTILS.check_numeric_gradient(product, location, dtype=dtype, rtol=1e-2, atol=1e-2)
    UTILS.check_numeric_gradient(product, location, grad_nodes={"x": "add"}, rtol=1e-2, atol=1e-2)
    UTILS.check_numeric_gradient(product, location, grad_nodes=["y"], rtol=1e-2, atol=1e-2)
    x = mx.sym.var("x")
    wrong = mx.sym.BlockGrad(x * mx.sym.var("y")) + x
    with pytest.raises(AssertionError, match="NUMERICAL_"):
        UTILS.check_numeric_gradient(wrong, location, dtype=dtype)


def test_simple_forward(product):
    np.testing.assert_array_equal(UTILS.simple_forward(product, x=TWOS, y=THREES), TWOS * 3)


def test_list_gpus(monkeypatch):
    assert len(UTILS.list_gpus()) == mx.context.num_gpus()
    monkeypatch.setattr("cynet.test_utils.check.num_gpus", lambda: 2)
    assert list(UTILS.list_gpus()) == [0, 1]


def test_consistency(product):
    entries = [
        {"ctx": mx.cpu(), "x": (2, 2), "y": (2, 2)},
        {
            "ctx": mx.cpu(),
            "x": (2, 2),
            "y": (2, 2),
            "type_dict": {"x": np.float64, "y": np.float64},
        },
    ]
    truth = UTILS.check_consistency(product, entries)
    assert {"x", "y"} < set(truth)
    with pytest.raises(AssertionError, match="and truth differ in 4 of 4 entries"):
        UTILS.check_consistency(
            [product, mx.sym.elemwise_add(mx.sym.var("x"), mx.sym.var("y"), name=product.name)],
            entries,
        )
    with pytest.raises(
        ArgumentError, match="check_consistency compares two entries of ctx_list or more"
    ):
        UTILS.check_consistency(product, entries[:1])


def test_hybridize_consistency(rng):
    data = [mx.nd.array(rng.normal(size=(3, 4)))]
    check = UTILS.check_gluon_hybridize_consistency
    check(lambda **names: mx.gluon.nn.Dense(2, activation="tanh", **names), data)
    check(lambda **names: mx.gluon.nn.HybridLambda("relu", **names), data, lambda x: x.clip(0))

    class Moody(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x * (1 if F is mx.nd else 1.01)

    with pytest.raises(AssertionError, match="output, hybridized"):
        check(Moody, data)
    with pytest.raises(AssertionError, match="numpy_func"):
        check(lambda **names: mx.gluon.nn.HybridLambda("relu", **names), data, lambda x: x)
    with pytest.raises(ArgumentError, match="data_l has no input"):
        check(Moody, [])
