"""Transforms of functions, and penalties on gradients: against PyTorch (autograd.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet import autograd as ag
from cynet import nd
from tests.fixtures.autograd import arrays

TORCH = json.loads((Path(__file__).parent.parent / "fixtures" / "autograd.json").read_text())


@pytest.fixture
def made():
    return {name: nd.array(value, dtype=value.dtype) for name, value in arrays().items()}


def close(found, expected):
    np.testing.assert_allclose(found.asnumpy(), np.array(expected), 1e-9, 1e-12)


def penalty(score, inputs):
    (slope,) = ag.grad(score.sum(), [inputs], create_graph=True)
    length = nd.norm(slope.reshape((slope.shape[0], -1)), axis=1)
    return nd.square(length - 1).mean()


def test_wgan_penalty_of_a_dense_critic(made):
    names = ["x", "w1", "b1", "w2"]
    for name in names:
        made[name].attach_grad()
    with ag.record():
        hidden = nd.tanh(nd.FullyConnected(made["x"], made["w1"], made["b1"], num_hidden=6))
        score = nd.FullyConnected(hidden, made["w2"], made["b2"], num_hidden=1)
        loss = penalty(score, made["x"]) + score.mean()
    loss.backward()
    for name, expected in zip(names[1:], TORCH["dense"]):
        close(made[name].grad, expected)


def test_wgan_penalty_of_a_convolutional_critic(made):
    names = ["image", "kernel", "bias", "dense"]
    for name in names:
        made[name].attach_grad()
    with ag.record():
        hidden = nd.Convolution(
            made["image"], made["kernel"], made["bias"], kernel=(3, 3), num_filter=3
        )
        hidden = nd.LeakyReLU(hidden, slope=0.2)
        score = nd.sigmoid(nd.dot(hidden.reshape((2, -1)), made["dense"].T))
        loss = penalty(score, made["image"])
    loss.backward()
    for name, expected in zip(names[1:], TORCH["conv"]):
        close(made[name].grad, expected)


def test_hessian_vector_product(made):
    def entropy(weight):
        scores = nd.log_softmax(nd.dot(made["points"], weight.T))
        return -nd.pick(scores, made["labels"]).mean()

    close(ag.hessian_vector_product(entropy, made["weight"], made["vector"]), TORCH["hvp"])


def test_jacobian_and_jvp(made):
    def chances(weight):
        return nd.softmax(nd.dot(made["points"][:2], weight.T))

    close(ag.jacobian(chances)(made["weight"]), TORCH["jacobian"])
    result, derivative = ag.jvp(chances, made["weight"], made["vector"])
    close(derivative, TORCH["jvp"])
    assert result.shape == (2, 4)


def test_value_and_grad_leaves_gradients_alone():
    x, y = nd.array([1.0, 2.0]), nd.array([3.0, 4.0])
    x.attach_grad()
    value, (dx, dy) = ag.value_and_grad(lambda a, b: (a * a * b).sum(), (0, 1))(x, y)
    assert value.asscalar() == 19
    assert dx.asnumpy().tolist() == [6, 16] and dy.asnumpy().tolist() == [1, 4]
    assert not x.grad.asnumpy().any() and y.grad is None
    value, dy = ag.value_and_grad(lambda a, b, k: (a * b * k).sum(), 1)(x, y, 2)
    assert dy.asnumpy().tolist() == [2, 4]
    _, (dx, dy) = ag.value_and_grad(lambda a, b: a.sum(), (0, -1))(x, y)
    assert dy.asnumpy().tolist() == [0, 0]


def test_vjp_may_go_back_again():
    result, back = ag.vjp(lambda a: (a * 2, a * a), nd.array([3.0]))
    assert [each.asscalar() for each in result] == [6, 9]
    for _ in range(2):
        (dx,) = back(nd.ones(1), nd.ones(1) * 10)
        assert dx.asscalar() == 62
    with pytest.raises(ValueError, match=r"shape \(2,\), expected \(1,\)"):
        back(nd.ones(2), nd.ones(1))


def test_nested():
    """A third derivative, by transforms in one another and beside a record scope."""

    def derivative(function):
        return lambda x: ag.value_and_grad(function)(x)[1]

    third = derivative(derivative(derivative(lambda x: (x**4).sum())))
    assert third(nd.array([2.0])).asscalar() == 48
    x = nd.array([2.0])
    x.attach_grad()
    with ag.record():
        y = derivative(lambda x: (x**3).sum())(x) * 5
    y.backward()
    assert x.grad.asscalar() == 60


@pytest.mark.parametrize("numbers", [-1, -2, [-2, -1], [1, -2]])
def test_inputs_counted_from_the_end(numbers):
    inputs = [nd.array([2.0]), nd.array([5.0])]
    _, found = ag.value_and_grad(lambda a, b: (a * a * b).sum(), numbers)(*inputs)
    slopes = {0: 20, 1: 4}
    places = [numbers] if isinstance(numbers, int) else numbers
    found = [found] if isinstance(numbers, int) else found
    assert [g.asscalar() for g in found] == [slopes[k % 2] for k in places]
    one = ag.value_and_grad(lambda a: (a * a).sum(), -1)(inputs[0])[1]
    assert one.asscalar() == 4


def no_derivative(x):
    """A loss, whose gradient is none of what it gives."""
    return nd.LinearRegressionOutput(x, x)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: ag.value_and_grad(lambda a: a * 2)(x), "must give one number"),
        (lambda x: ag.value_and_grad(lambda a: 3)(x), "expected an NDArray"),
        (lambda x: ag.value_and_grad(lambda a: a, 1)(x), "there are 1 inputs"),
        (lambda x: ag.value_and_grad(lambda a: a, -2)(x), "there are 1 inputs"),
        (lambda x: ag.value_and_grad(lambda a: a)(3), "input 0 must be an NDArray"),
        (lambda x: ag.jvp(lambda a: a, x, nd.ones(5)), r"shape \(5,\), expected \(2,\)"),
        (lambda x: ag.jvp(no_derivative, x, x), "operator LinearRegressionOutput has no gradient"),
        (lambda x: ag.jacobian(lambda a: (a, a))(x), "gave 2 arrays"),
    ],
)
def test_errors(call, error):
    with pytest.raises(mx.MXNetError, match=error):
        call(nd.ones(2))
    assert not ag.is_recording()
