"""Row_sparse gradients: lazy updates against NumPy, over 50 steps; the others as dense ones."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError

SHAPE, STEPS = (11, 3), 50
LR, WD, SCALE, CLIP = 0.1, 0.03, 0.7, 0.4


class Model:
    """Lazy updates in float64: only rows of the gradient change, and their states."""

    def __init__(self, weight, wd):
        self.w, self.wd, self.t = weight.astype("f8"), wd, 0
        self.states = [np.zeros(SHAPE), np.zeros(SHAPE)]

    def step(self, rows, grad):
        self.t += 1
        parts = [each[rows] for each in self.states]
        g = np.clip(grad * SCALE, -CLIP, CLIP)
        raw = grad * SCALE
        self.w[rows] = self.rule(self.w[rows], g, raw, *parts)
        for each, part in zip(self.states, parts):
            each[rows] = part


class SGD(Model):
    settings = {}

    def rule(self, w, g, raw, m, _):
        return w - LR * (g + self.wd * w)


class Momentum(Model):
    settings = {"momentum": 0.9}

    def rule(self, w, g, raw, m, _):
        m[:] = 0.9 * m - LR * (g + self.wd * w)
        return w + m


class Adam(Model):
    settings = {}

    def rule(self, w, g, raw, mean, var):
        g = np.clip(raw + self.wd * w, -CLIP, CLIP)
        mean[:] = 0.9 * mean + 0.1 * g
        var[:] = 0.999 * var + 0.001 * g * g
        lr = LR * np.sqrt(1 - 0.999**self.t) / (1 - 0.9**self.t)
        return w - lr * mean / (np.sqrt(var) + 1e-8)


class AdaGrad(Model):
    settings = {}

    def rule(self, w, g, raw, total, _):
        total += g * g
        return w - LR * (g / np.sqrt(total + 1e-7) + self.wd * w)


class Ftrl(Model):
    settings = {"lamda1": 0.05}

    def rule(self, w, g, raw, z, n):
        new = n + g * g
        z += g - (np.sqrt(new) - np.sqrt(n)) * w / LR
        n[:] = new
        moved = (np.sign(z) * 0.05 - z) / ((1 + np.sqrt(n)) / LR + self.wd)
        return np.where(np.abs(z) > 0.05, moved, 0)


class GroupAdaGrad(Model):
    settings = {}

    def rule(self, w, g, raw, history, _):
        history += (g * g).mean(1, keepdims=True)
        return w - LR * g / np.sqrt(history + 1e-5)


MODELS = {
    "sgd": SGD,
    "momentum": Momentum,
    "adam": Adam,
    "adagrad": AdaGrad,
    "ftrl": Ftrl,
    "groupadagrad": GroupAdaGrad,
}


def made(name, wd, **more):
    model = MODELS[name]
    settings = {"learning_rate": LR, "rescale_grad": SCALE, "clip_gradient": CLIP, "wd": wd}
    kind = "sgd" if name == "momentum" else name
    return mx.optimizer.create(kind, **settings, **model.settings, **more)


def steps(rng, n=STEPS):
    """Rows and their gradients; some steps have none."""
    for i in range(n):
        rows = np.flatnonzero(rng.random(SHAPE[0]) < 0.3 * (i % 7 > 0))
        yield rows, rng.normal(size=(len(rows), *SHAPE[1:])).astype("f")


def gradient(rows, values, dtype):
    if not len(rows):
        return mx.nd.sparse.zeros("row_sparse", SHAPE, dtype=dtype)
    values = mx.nd.array(values, dtype=dtype)
    return mx.nd.sparse.row_sparse_array((values, rows), shape=SHAPE)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
@pytest.mark.parametrize("name", MODELS)
def test_lazy_updates(rng, name, stype, dtype):
    wd = 0 if name == "groupadagrad" else WD
    start = rng.normal(size=SHAPE).astype(dtype)
    model, weight = MODELS[name](start, wd), mx.nd.array(start, dtype=dtype).tostype(stype)
    updater = mx.optimizer.get_updater(made(name, wd))
    for rows, values in steps(rng):
        updater(0, gradient(rows, values, dtype), weight)
        model.step(rows, values.astype("f8"))
    assert weight.stype == stype
    close = 1e-4 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(weight.asnumpy(), model.w, close, close / 10)


@pytest.mark.parametrize("name", ["sgd", "momentum", "adam"])
def test_float32_copies(rng, name):
    """The float32 copy moves as a float32 weight does, and the weight is rounded from it."""
    start = rng.normal(size=SHAPE).astype("f2")
    model, weight = MODELS[name](start, WD), mx.nd.array(start, dtype="float16")
    updater = mx.optimizer.get_updater(made(name, WD, multi_precision=True))
    for rows, values in steps(rng):
        values = values.astype("f2")
        updater(0, gradient(rows, values, "float16"), weight)
        model.step(rows, values.astype("f8"))
    copy = updater.states[0][1 if name in ("sgd", "momentum") else 0]  # as MXNet has them
    np.testing.assert_allclose(copy.asnumpy(), model.w, 1e-4, 1e-5)
    np.testing.assert_allclose(weight.asnumpy(), model.w.astype("f2"), 2e-3, 1e-4)


OTHERS = (
    "nag",
    "signum",
    "rmsprop",
    "adadelta",
    "adamax",
    "nadam",
    "ftml",
    "dcasgd",
    "adamw",
    "lion",
    "adafactor",
)


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.filterwarnings("ignore:operator")
def test_optimizers_without_lazy_updates_take_zeros(rng, name):
    """All rows move, as MXNet's do: a gradient's rows that are not there are zeros."""
    start = rng.normal(size=SHAPE).astype("f")
    ways = []
    for sparse in (True, False):
        rule = mx.optimizer.create(name, learning_rate=0.01, wd=WD)
        ways.append((sparse, mx.optimizer.get_updater(rule), mx.nd.array(start)))
    for rows, values in steps(rng, 10):
        grad = gradient(rows, values, "float32")
        for sparse, updater, weight in ways:
            updater(0, grad if sparse else grad.tostype("default"), weight)
    np.testing.assert_allclose(ways[0][2].asnumpy(), ways[1][2].asnumpy(), 1e-6, 1e-7)


@pytest.mark.parametrize("name", ["sgd", "momentum", "adam"])
def test_lazy_update_false_decays_all_rows(rng, name):
    start = rng.normal(size=SHAPE).astype("f")
    weights = [mx.nd.array(start) for _ in range(2)]
    updaters = [mx.optimizer.get_updater(made(name, WD, lazy_update=False)) for _ in range(2)]
    for rows, values in steps(rng, 10):
        grad = gradient(rows, values, "float32")
        updaters[0](0, grad, weights[0])
        updaters[1](0, grad.tostype("default"), weights[1])
    np.testing.assert_array_equal(weights[0].asnumpy(), weights[1].asnumpy())


def test_weights_of_both_kinds_in_one_call(rng):
    dense, rows = (mx.nd.array(rng.normal(size=SHAPE)) for _ in range(2))
    want = [dense.asnumpy(), rows.asnumpy()]
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
    values = rng.normal(size=(2, 3)).astype("f")
    grads = [mx.nd.ones(SHAPE), gradient(np.array([4, 7]), values, "float32")]
    updater([0, 1], grads, [dense, rows])
    want[0] -= 0.5
    want[1][[4, 7]] -= np.float32(0.5) * values
    np.testing.assert_allclose(dense.asnumpy(), want[0], 1e-6)
    np.testing.assert_allclose(rows.asnumpy(), want[1], 1e-6)


def test_a_row_sparse_weight_without_all_rows_is_refused():
    updater = mx.optimizer.get_updater(mx.optimizer.SGD())
    weight = mx.nd.sparse.row_sparse_array(([[1.0]], [1]), shape=(3, 1))
    with pytest.raises(ArgumentError, match=r"shape \(3, 1\) has values for 1 rows"):
        updater(0, weight.copy(), weight)


def test_a_user_s_optimizer_gets_the_gradient_as_it_is():
    class Own(mx.optimizer.Optimizer):
        seen = ()

        def update(self, index, weight, grad, state):
            self.seen = grad.stype, grad.indices.asnumpy().tolist()

    rule = Own()
    values = np.ones((1, 3), "f")
    mx.optimizer.get_updater(rule)(0, gradient([2], values, "float32"), mx.nd.ones(SHAPE))
    assert rule.seen == ("row_sparse", [2])
