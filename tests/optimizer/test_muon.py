"""Muon: PyTorch's, a model in NumPy, kernels and biases, files."""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures import torch_muon as given

EXPECTED = np.load(Path(given.__file__).with_suffix(".npz"))


def model(w, grads, lr=0.02, momentum=0.95, nesterov=True, steps=5, wd=0.0, scale=1.0):
    """The weights of a matrix after each step, in float64, by the polynomial of singular values."""
    buffer = np.zeros_like(w)
    for grad in grads:
        buffer = momentum * buffer + (1 - momentum) * grad
        move = (1 - momentum) * grad + momentum * buffer if nesterov else buffer
        u, values, v = np.linalg.svd(move, full_matrices=False)
        values = values / np.linalg.norm(move)
        for _ in range(steps):
            values = 3.4445 * values - 4.775 * values**3 + 2.0315 * values**5
        w = w * (1 - lr * wd) - lr * scale * (u * values) @ v
        yield w


@pytest.mark.parametrize("name", given.CASES)
def test_it_is_pytorchs(name):
    """Up to bfloat16, which has 8 bits: a step differs by a few hundredths of itself."""
    shape, settings = given.CASES[name]
    weight, grads = given.drawn(shape)
    update = mx.optimizer.get_updater(mx.optimizer.Muon(**settings))
    ours, before = mx.nd.array(weight), weight
    for i, grad in enumerate(grads):
        update(0, mx.nd.array(grad), ours)
        step, wanted = ours.asnumpy() - before, EXPECTED[name][i] - before
        assert np.linalg.norm(step - wanted) < 0.03 * (i + 1) * np.linalg.norm(wanted)
        before = ours.asnumpy()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "shape, scale", [((3, 7), 1.0), ((8, 2), 2.0), ((5, 2, 2, 1), 1.25**0.5), ((4, 4), 1.0)]
)
def test_it_is_the_papers(rng, shape, scale, dtype):
    weight, grads = rng.normal(size=shape), [rng.normal(size=shape) for _ in range(6)]
    update = mx.optimizer.get_updater(mx.optimizer.Muon(wd=0.1))
    ours, flat = mx.nd.array(weight, dtype=dtype), (shape[0], -1)
    steps = model(weight.reshape(flat), [g.reshape(flat) for g in grads], wd=0.1, scale=scale)
    tolerance = {"rtol": 1e-11} if dtype == "float64" else {"rtol": 1e-4, "atol": 1e-5}
    for grad, wanted in zip(grads, steps):
        update(0, mx.nd.array(grad, dtype=dtype), ours)
        np.testing.assert_allclose(ours.asnumpy(), wanted.reshape(shape), **tolerance)


def test_a_weight_of_one_axis_steps_as_adamws(rng):
    weight, grads = rng.normal(size=5), rng.normal(size=(6, 5))
    update = mx.optimizer.get_updater(mx.optimizer.Muon(learning_rate=0.02, wd=0.1))
    ours = mx.nd.array(weight, dtype="float64")
    mean, square, w = np.zeros(5), np.zeros(5), weight.copy()
    for i, grad in enumerate(grads, 1):
        update(0, mx.nd.array(grad, dtype="float64"), ours)
        mean, square = 0.9 * mean + 0.1 * grad, 0.95 * square + 0.05 * grad**2
        move = mean / (1 - 0.9**i) / (np.sqrt(square / (1 - 0.95**i)) + 1e-7)
        w = w * (1 - 0.02 * 0.1) - 0.02 * move
        np.testing.assert_allclose(ours.asnumpy(), w, rtol=1e-12)


def test_zeros_do_not_divide():
    update = mx.optimizer.get_updater(mx.optimizer.Muon())
    weight = mx.nd.ones((3, 2))
    update(0, mx.nd.zeros((3, 2)), weight)
    assert (weight.asnumpy() == 1).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_of_16_bits(rng, dtype):
    weight, grad = rng.normal(size=(4, 5)), rng.normal(size=(4, 5))
    update = mx.optimizer.get_updater(mx.optimizer.Muon(multi_precision=True))
    ours = mx.nd.array(weight).astype(dtype)
    exact = ours.astype("float64").asnumpy()
    narrow = mx.nd.array(grad).astype(dtype)
    update(0, narrow, ours)
    (wanted,) = model(exact, [narrow.astype("float64").asnumpy()])
    np.testing.assert_allclose(ours.astype("float32").asnumpy(), wanted, rtol=1e-2, atol=1e-3)


def test_a_network_trains_and_goes_on_from_a_file(rng, tmp_path):
    x = mx.nd.array(rng.normal(size=(32, 4)))
    y = mx.nd.array((x.asnumpy() @ rng.normal(size=(4, 3))).argmax(1))  # what can be learned
    loss, results = mx.gluon.loss.SoftmaxCELoss(), []
    for cut in (None, 10):
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(16, "relu", in_units=4), mx.gluon.nn.Dense(3, in_units=16))
        mx.random.seed(3)
        net.initialize(mx.init.Xavier())
        trainer = mx.gluon.Trainer(net.collect_params(), "muon", {"learning_rate": 0.05})
        for step in range(30):
            if step == cut:
                trainer.save_states(str(tmp_path / "states"))
                trainer = mx.gluon.Trainer(net.collect_params(), "muon", {"learning_rate": 0.05})
                trainer.load_states(str(tmp_path / "states"))
            with mx.autograd.record():
                value = loss(net(x), y)
            value.backward()
            trainer.step(32)
            if step == 0:
                first = value.asnumpy().mean()
        results.append(value.asnumpy())
    np.testing.assert_array_equal(*results)
    assert results[0].mean() < 0.7 * first


@pytest.mark.parametrize("settings", [{"adjust": "other"}, {"ns_steps": 0}, {"momentum": "x"}])
def test_what_is_refused(settings):
    with pytest.raises((mx.errors.ArgumentError, TypeError), match=next(iter(settings))):
        mx.optimizer.Muon(**settings)
