"""Steps on weights of three axes, dense and row_sparse, with and without all rows."""

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError

SHAPE, LR, SCALE, CLIP = (3, 4, 5), 0.1, 0.8, 0.4


def within(x, clip):
    return x if clip is None else np.clip(x, -clip, clip)


class Rule:
    """One step in float64 of the rows `at`; `n` zero arrays are the state."""

    n, lazy = 1, True

    def __init__(self, wd=0.0, clip_gradient=None, **others):
        self.wd, self.clip, self.others = wd, clip_gradient, others


class SGD(Rule):
    def step(self, w, g, t, mom):
        g = within(g * SCALE, self.clip) + self.wd * w
        mom[:] = self.others.get("momentum", 0.0) * mom - LR * g
        return w + mom


class NAG(Rule):
    lazy = False

    def step(self, w, g, t, mom):
        m = self.others.get("momentum", 0.0)
        g = within(g * SCALE, self.clip)
        moved = m * mom - LR * (g + self.wd * w)
        ahead = w + m * moved - LR * (g + self.wd * w)
        mom[:] = m * mom - LR * (g + self.wd * ahead)
        return ahead


class Adam(Rule):
    n = 2

    def step(self, w, g, t, mean, var):
        g = within(g * SCALE + self.wd * w, self.clip)
        mean[:] = 0.9 * mean + 0.1 * g
        var[:] = 0.999 * var + 0.001 * g * g
        return w - LR * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * mean / (np.sqrt(var) + 1e-8)


class AdaGrad(Rule):
    def step(self, w, g, t, total):
        g = within(g * SCALE, self.clip)
        total += g * g
        return w - LR * (g / np.sqrt(total + 1e-7) + self.wd * w)


class Ftrl(Rule):
    n = 2

    def step(self, w, g, t, z, total):
        g = within(g * SCALE, self.clip)
        more = total + g * g
        z += g - (np.sqrt(more) - np.sqrt(total)) * w / LR
        total[:] = more
        moved = (np.sign(z) * 0.01 - z) / ((1 + np.sqrt(total)) / LR + self.wd)
        return np.where(np.abs(z) > 0.01, moved, 0)


RULES = {"sgd": SGD, "nag": NAG, "adam": Adam, "adagrad": AdaGrad, "ftrl": Ftrl}
SETTINGS = [{}, {"wd": 0.05}, {"clip_gradient": CLIP}, {"wd": 0.05, "clip_gradient": CLIP}]
CASES = [
    (name, {**each, **more}, lazy)
    for name, kind in RULES.items()
    for each in SETTINGS
    for more in ([{}, {"momentum": 0.9}] if name in ("sgd", "nag") else [{}])
    for lazy in ([True, False] if name in ("sgd", "adam") else [kind.lazy])
]


@pytest.mark.parametrize("w_stype", ["default", "row_sparse"])
@pytest.mark.parametrize("g_stype", ["default", "row_sparse"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name, settings, lazy", CASES, ids=str)
def test_steps(rng, name, settings, lazy, w_stype, g_stype, dtype):
    """Lazy steps change the rows of a row_sparse gradient; all others every row."""
    kind = RULES[name]
    weight = rng.uniform(-1, 1, SHAPE)
    options = {"lazy_update": lazy} if name in ("sgd", "adam") else {}
    narrow = dtype == "float16"
    optimizer = mx.optimizer.create(
        name, learning_rate=LR, rescale_grad=SCALE, multi_precision=narrow, **settings, **options
    )
    array = mx.nd.array(weight, dtype=dtype).tostype(w_stype)
    state = optimizer.create_state_multi_precision(0, array)
    rule = kind(**settings)
    wanted = array.asnumpy().astype("f8")
    states = [np.zeros(SHAPE) for _ in range(kind.n)]
    for t in range(1, 4):
        grad = rng.uniform(-1, 1, SHAPE).astype(dtype)
        grad[t % 3] = 0
        given = mx.nd.array(grad, dtype=dtype).tostype(g_stype)
        optimizer.update_multi_precision(0, array, given, state)
        at = np.arange(3) != t % 3 if lazy and g_stype == "row_sparse" else np.ones(3, bool)
        parts = [each[at] for each in states]
        wanted[at] = rule.step(wanted[at], grad[at].astype("f8"), t, *parts)
        for each, part in zip(states, parts):
            each[at] = part
    assert array.stype == w_stype and array.dtype == np.dtype(dtype)
    tolerance = {"rtol": 2e-3, "atol": 2e-3} if narrow else {"rtol": 1e-4, "atol": 1e-5}
    np.testing.assert_allclose(array.asnumpy(), wanted, **tolerance)


@pytest.mark.parametrize("name", ["sgd", "nag", "adam", "adagrad", "ftrl", "rmsprop"])
@pytest.mark.parametrize("rows", [[0, 2], []])
@pytest.mark.parametrize("g_stype", ["default", "row_sparse"])
def test_weights_that_lack_rows(name, rows, g_stype):
    """They get them where all rows change; a lazy step has no place for the new values."""
    weight, grad = np.zeros(SHAPE, "f4"), np.zeros(SHAPE, "f4")
    weight[rows], grad[[1, 2]] = 0.5, 0.25
    found = []
    for w_stype in ("default", "row_sparse"):
        optimizer = mx.optimizer.create(name, learning_rate=LR)
        array, given = mx.nd.array(weight).tostype(w_stype), mx.nd.array(grad).tostype(g_stype)
        state = optimizer.create_state(0, array)
        is_lazy = g_stype == "row_sparse" and name not in ("nag", "rmsprop")
        if is_lazy and w_stype == "row_sparse":
            with pytest.raises(ArgumentError, match=f"has values for {len(rows)} rows; expected a"):
                optimizer.update(0, array, given, state)
            return
        for _ in range(2):
            optimizer.update(0, array, given, state)
        assert array.stype == w_stype
        found.append(array.asnumpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


COPY_BEHIND = {"sgd", "ccsgd", "nag", "lars"}  # as MXNet 1.9.1 has it


OWN = sorted(
    name
    for name, kind in mx.optimizer.Optimizer.opt_registry.items()
    if kind.__module__.startswith("cynet.optimizer")  # not those of other tests
)


@pytest.mark.parametrize("name", OWN)
def test_where_the_float32_copy_is(name):
    optimizer = mx.optimizer.create(name, multi_precision=True)
    weight = mx.nd.full((2, 3), 0.5, dtype="float16")
    pair = optimizer.create_state_multi_precision(0, weight)
    copy = pair[1 if name in COPY_BEHIND else 0]
    assert copy.dtype == np.float32 and (copy.asnumpy() == 0.5).all()


# adadelta has no rate in its steps, sgld has noise, test no rule
@pytest.mark.parametrize("name", [n for n in OWN if n not in ("adadelta", "sgld", "test")])
@pytest.mark.parametrize("how", ["rate", "factor"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_a_rate_of_0(name, how, dtype):
    """Where a schedule ends, or a weight has lr_mult 0: weights rest, and go on afterwards."""
    optimizer = mx.optimizer.create(name, learning_rate=0.1, multi_precision=dtype == "float16")
    weight = mx.nd.full((3, 2), 0.5, dtype=dtype)
    state = optimizer.create_state_multi_precision(0, weight)
    copy = weight if dtype != "float16" else state[1 if name in COPY_BEHIND else 0]
    seen = [copy.asnumpy()]
    for rate in (0.1, 0.0, 0.0, 0.1):
        if how == "rate":
            optimizer.lr = rate
        else:
            optimizer.set_lr_mult({0: 10 * rate})
        grad = mx.nd.full((3, 2), 0.25, dtype=dtype)
        optimizer.update_multi_precision(0, weight, grad, state)
        seen.append(copy.asnumpy())
    assert np.isfinite(seen).all() and np.isfinite(weight.asnumpy()).all()
    np.testing.assert_array_equal(seen[1], seen[3])
    assert (seen[0] != seen[1]).all() and (seen[3] != seen[4]).all()


class RowByRow(mx.optimizer.Optimizer):
    """SGD with momentum as one would write it of arrays' rows, in float32; a row without a gradient
    rests where `lazy`."""

    def __init__(self, momentum=0.0, lazy=False, **settings):
        super().__init__(**settings)
        self.momentum, self.lazy = momentum, lazy

    def create_state_multi_precision(self, index, weight):
        state = mx.nd.zeros(weight.shape) if self.momentum else None
        return (state, weight.astype("float32")) if self.multi_precision else state

    def update_multi_precision(self, index, weight, grad, state):
        self._update_count(index)
        lr, wd, whole = self._get_lr(index), self._get_wd(index), weight
        if self.multi_precision:
            state, whole = state
        for row in range(weight.shape[0]):
            own = grad[row].astype("float32")
            if self.lazy and mx.test_utils.almost_equal(own.asnumpy(), np.zeros(own.shape)):
                continue
            own = self._prepare_gradient(own) + wd * whole[row]
            if state is None:
                whole[row] = whole[row] - lr * own
            else:
                state[row] = self.momentum * state[row] - lr * own
                whole[row] = whole[row] + state[row]
        if self.multi_precision:
            weight[:] = whole


@pytest.mark.parametrize("w_stype", ["default", "row_sparse"])
@pytest.mark.parametrize("g_stype", ["default", "row_sparse"])
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_against_an_optimizer_in_python(momentum, dtype, lazy, g_stype, w_stype):
    """`compare_optimizer` gives the first dense arrays, the second those of its storage types."""
    settings = {
        "learning_rate": LR,
        "momentum": momentum,
        "wd": 0.03,
        "rescale_grad": 0.8,
        "clip_gradient": CLIP,
        "multi_precision": dtype == "float16",
    }
    rests = lazy and g_stype == "row_sparse"
    one = RowByRow(lazy=rests, **settings)
    two = mx.optimizer.SGD(lazy_update=lazy, **settings)
    tolerance = 1e-3 if dtype == "float16" else 1e-4
    for _ in range(3):  # gradients of other rows
        mx.test_utils.compare_optimizer(
            one, two, SHAPE, np.dtype(dtype), w_stype, g_stype, rtol=tolerance, atol=tolerance
        )
    other = mx.optimizer.SGD(lazy_update=lazy, **{**settings, "wd": 0.5})
    with pytest.raises(AssertionError, match="a and b differ in"):
        mx.test_utils.compare_optimizer(one, other, (9, 4), np.dtype(dtype), w_stype, "default")
