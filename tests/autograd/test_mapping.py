"""vmap against the same functions written for batches in NumPy."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, nd
from cynet.autograd import vmap


@pytest.mark.parametrize(
    "axis, other, out", [(0, 0, 0), (1, 0, 1), (-1, -1, -1), (0, 1, 2), (2, 0, 1)]
)
def test_axes(rng, axis, other, out):
    a, b = rng.normal(size=(5, 2, 3)), rng.normal(size=(5, 3, 4))
    wanted = np.moveaxis(a @ b, 0, out)
    one = nd.array(np.moveaxis(a, 0, axis), dtype="float64")
    two = nd.array(np.moveaxis(b, 0, other), dtype="float64")
    found = vmap(nd.dot, in_axes=(axis, other), out_axes=out)(one, two)
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-12)


def test_shared_inputs_several_outputs_and_nesting(rng):
    w, rows, others = rng.normal(size=(3, 3)), rng.normal(size=(4, 3)), rng.normal(size=(2, 3))
    nds = [nd.array(each, dtype="float64") for each in (w, rows, others)]

    def both(w, x, scale):
        return nd.dot(w, x) * scale, nd.softmax(x)

    first, second = vmap(both, in_axes=(None, 0, None))(nds[0], nds[1], 2)
    np.testing.assert_allclose(first.asnumpy(), 2 * rows @ w.T, rtol=1e-12)
    exp = np.exp(rows)
    np.testing.assert_allclose(second.asnumpy(), exp / exp.sum(1, keepdims=True), rtol=1e-12)
    table = vmap(lambda x: vmap(lambda y: x * y)(nds[2]))(nds[1])  # an array alone has axis 0
    np.testing.assert_allclose(table.asnumpy(), rows[:, None] * others[None], rtol=1e-12)
    assert isinstance(vmap(lambda x: [x, x])(nds[1]), list)


def test_numpy_arrays_have_samples_without_axes(rng):
    x = mx.np.array(rng.normal(size=(6,)), dtype="float64")
    found = vmap(lambda a: a * a)(x)
    assert type(found) is type(x) and found.shape == (6,)
    np.testing.assert_allclose(found.asnumpy(), x.asnumpy() ** 2)
    assert vmap(lambda a: a * a)(nd.ones(6)).shape == (6, 1)


def test_gradients_flow(rng):
    x = nd.array(rng.normal(size=(5, 3)), dtype="float64")
    w = nd.array(rng.normal(size=(3,)), dtype="float64")
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        total = vmap(lambda x, w: (x * x * w).sum(), in_axes=(0, None))(x, w).sum()
    total.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * x.asnumpy() * w.asnumpy(), rtol=1e-12)
    np.testing.assert_allclose(w.grad.asnumpy(), (x.asnumpy() ** 2).sum(0), rtol=1e-12)


def test_derivatives_of_each_sample(rng):
    x = nd.array(rng.normal(size=(5, 3)), dtype="float64")
    found = vmap(autograd.jacobian(lambda a: nd.sin(a) * 2))(x).asnumpy()
    wanted = 2 * np.cos(x.asnumpy())[:, :, None] * np.eye(3)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    "function, settings, inputs, match",
    [
        (nd.dot, {}, (nd.ones((2, 3)), nd.ones((3, 3))), "2 in input 0, 3 in input 1"),
        (nd.dot, {"in_axes": (0,)}, (nd.ones(2), nd.ones(2)), "1 axes for 2 inputs"),
        (nd.sin, {"in_axes": 1}, (nd.ones(2),), r"input 0 of shape \(2,\) has no axis 1"),
        (nd.sin, {"in_axes": None}, (nd.ones(2),), "no input has an axis"),
        (nd.sin, {"in_axes": 0.5}, (nd.ones(2),), "axis of input 0 must be an int"),
        (nd.sin, {"in_axes": (0,)}, (3,), "input 0 must be an NDArray, got 3"),
        (nd.sin, {"out_axes": 3}, (nd.ones(2),), "takes no axis 3 more"),
        (lambda x: 1, {}, (nd.ones(2),), "the function gave 1"),
        (lambda x: nd.ones(int(x.asscalar())), {}, (nd.array([1, 2]),), r"\(2,\) for sample 1"),
        (nd.sin, {}, (mx.np.ones((0, 2)),), "no samples"),
    ],
)
def test_what_does_not_fit_is_refused(function, settings, inputs, match):
    with pytest.raises((mx.errors.ArgumentError, TypeError), match=match):
        vmap(function, **settings)(*inputs)
