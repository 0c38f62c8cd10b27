"""Lion and Adafactor: models in NumPy of the papers' algorithms, PyTorch's Adafactor; every way."""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures import torch_adafactor as given

EXPECTED = np.load(Path(given.__file__).with_suffix(".npz"))
SHAPES = [(4, 5), (6,), (3, 2, 2, 2), (1, 3), (7, 1)]
STEPS = 12


def lion(w, grads, lr=0.02, wd=0.1, beta1=0.9, beta2=0.99, rescale=0.5, clip=0.8):
    """Algorithm 2 of Chen et al."""
    m, w = np.zeros_like(w), w.astype("float64")
    for grad in grads:
        g = np.clip(rescale * grad.astype("float64"), -clip, clip)
        c = beta1 * m + (1 - beta1) * g
        w = w - lr * (np.sign(c) + wd * w)
        m = beta2 * m + (1 - beta2) * g
        yield w


def adafactor(w, grads, lr=0.02, wd=0.1, relative=True, scale=True, eps1=1e-30, eps2=1e-3, d=1.0):
    """Algorithms 4 and 5 of Shazeer and Stern, of the weight as a matrix; decay as PyTorch's."""
    shape, w = w.shape, w.astype("float64").reshape(w.shape[0], -1)
    vector, (n, m) = len(shape) == 1, w.shape
    r, c, v = np.zeros(n), np.zeros(m), np.zeros((n, m))
    for t, grad in enumerate(grads, 1):
        g = grad.astype("float64").reshape(n, m)
        beta = 1 - t**-0.8
        squares = g**2 + eps1
        if vector:
            v = beta * v + (1 - beta) * squares
        else:
            r = beta * r + (1 - beta) * squares.sum(axis=1)
            c = beta * c + (1 - beta) * squares.sum(axis=0)
            v = np.outer(r, c) / r.sum()
        u = g / np.sqrt(v)
        u = u / max(1, np.sqrt((u**2).mean()) / d)
        rate = min(lr, 1 / np.sqrt(t)) if relative else lr
        if scale:
            rate *= max(eps2, np.sqrt((w**2).mean()))
        w = w * (1 - lr * wd) - rate * u
        yield w.reshape(shape)


def drawn(rng, shape, steps=STEPS):
    weight = rng.normal(size=shape).astype("float32")
    return weight, [rng.normal(size=shape).astype("float32") for _ in range(steps)]


@pytest.mark.parametrize("shape", SHAPES)
def test_lion_is_the_papers(rng, shape):
    weight, grads = drawn(rng, shape)
    optimizer = mx.optimizer.Lion(learning_rate=0.02, wd=0.1, rescale_grad=0.5, clip_gradient=0.8)
    update, ours = mx.optimizer.get_updater(optimizer), mx.nd.array(weight)
    for grad, wanted in zip(grads, lion(weight, grads)):
        update(0, mx.nd.array(grad), ours)
        np.testing.assert_allclose(ours.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("scale", [True, False])
def test_adafactor_is_the_papers(rng, shape, relative, scale):
    weight, grads = drawn(rng, shape)
    weight *= 1e-4 if shape == (7, 1) else 1  # below min_scale
    optimizer = mx.optimizer.Adafactor(
        learning_rate=0.02, wd=0.1, relative_step=relative, scale_parameter=scale
    )
    update, ours = mx.optimizer.get_updater(optimizer), mx.nd.array(weight)
    wanted = adafactor(weight, grads, relative=relative, scale=scale)
    for grad, each in zip(grads, wanted):
        update(0, mx.nd.array(grad), ours)
        np.testing.assert_allclose(ours.asnumpy(), each, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", given.CASES)
def test_adafactor_is_pytorchs(name):
    shape, settings = given.CASES[name]
    weight, grads = given.drawn(shape)
    update = mx.optimizer.get_updater(mx.optimizer.Adafactor(**settings))
    ours = mx.nd.array(weight)
    for i, grad in enumerate(grads):
        update(0, mx.nd.array(grad), ours)
        np.testing.assert_allclose(ours.asnumpy(), EXPECTED[name][i], rtol=2e-5, atol=1e-6)


def test_adafactor_of_zeros_and_of_tiny_gradients():
    update = mx.optimizer.get_updater(mx.optimizer.Adafactor(learning_rate=0.1))
    grad = np.zeros((3, 4), "float32")
    grad[1] = 1e-12
    weight = mx.nd.ones((3, 4))
    update(0, mx.nd.array(grad), weight)
    update(0, mx.nd.zeros((3, 4)), weight)
    found = weight.asnumpy()
    assert np.isfinite(found).all() and (found[0] == 1).all() and (found[1] < 1).all()


@pytest.mark.parametrize("name", ["lion", "adafactor"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_dtypes(rng, name, dtype):
    """With float32 copies weights of 16 bits are those of float32, rounded."""
    weight, grads = drawn(rng, (4, 5))
    narrow = dtype != "float64"
    settings = {"learning_rate": 0.01, "wd": 0.1, "multi_precision": narrow}
    update = mx.optimizer.get_updater(mx.optimizer.create(name, **settings))
    ours = mx.nd.array(weight).astype(dtype)
    start = ours.astype("float64").asnumpy()
    grads = [mx.nd.array(grad).astype(dtype) for grad in grads]
    plain = {"lr": 0.01, "rescale": 1, "clip": 1e9} if name == "lion" else {"lr": 0.01}
    model = lion if name == "lion" else adafactor
    wanted = model(start, [g.astype("float64").asnumpy() for g in grads], **plain)
    rtol = {"float16": 2e-3, "bfloat16": 1e-2, "float64": 1e-12}[dtype]
    for grad, each in zip(grads, wanted):
        update(0, grad, ours)
        np.testing.assert_allclose(ours.astype("float64").asnumpy(), each, rtol=rtol, atol=1e-4)
        assert mx.nd.zeros(1, dtype=dtype).dtype == ours.dtype


@pytest.mark.parametrize("name", ["lion", "adafactor"])
def test_module_and_trainer_agree_and_go_on_from_files(rng, tmp_path, name):
    """Weights of a Trainer on two contexts, in one joined step; its states in a file."""
    settings = {"learning_rate": 0.02, "wd": 0.05}
    x = rng.normal(size=(16, 4)).astype("float32")
    y = rng.normal(size=(16, 3)).astype("float32")
    loss, ways = mx.gluon.loss.L2Loss(), []
    for contexts, cut in (([mx.cpu(0)], 3), ([mx.cpu(0), mx.cpu(1)], None)):
        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(5, in_units=4), mx.gluon.nn.Dense(3, in_units=5))
        net.initialize(mx.init.Constant(0.1), ctx=contexts)
        net.hybridize()
        trainer = mx.gluon.Trainer(net.collect_params(), name, settings)
        for step in range(6):
            if step == cut:
                trainer.save_states(str(tmp_path / "states"))
                trainer = mx.gluon.Trainer(net.collect_params(), name, settings)
                trainer.load_states(str(tmp_path / "states"))
            parts = [mx.gluon.utils.split_and_load(each, contexts) for each in (x, y)]
            with mx.autograd.record():
                errors = [loss(net(a), b) for a, b in zip(*parts)]
            mx.autograd.backward(errors)
            trainer.step(16)
        ways.append([each.list_data()[0].asnumpy() for each in net.collect_params().values()])
    for one, two in zip(*ways):
        np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-6)


def test_what_is_refused():
    for settings in ({"decay_rate": 0.8}, {"clip_threshold": 0}):
        with pytest.raises(mx.errors.ArgumentError, match=next(iter(settings))):
            mx.optimizer.Adafactor(**settings)
    with pytest.raises(TypeError, match="epsilon"):
        mx.optimizer.Adafactor(epsilon="1")
