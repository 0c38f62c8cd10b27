"""LRN in both memory orders against sums of longer numbers in NumPy."""

import numpy as np
import pytest

from cynet.kernels.parallel import set_num_threads
from tests.operator.direct import Ready, turned, turned_back

# one channel, lines, fewer channels than nsize, no multiples of a vector, more than one part
SHAPES = [(2, 16, 7, 9), (3, 5), (1, 1, 33, 5), (2, 3, 300), (2, 70, 11, 13), (1, 300, 2), (67, 19)]
SETTINGS = [
    {"nsize": 5},
    {"nsize": 3, "alpha": 0.5, "knorm": 1.0},
    {"nsize": 7, "alpha": 0.5, "beta": 0.6, "knorm": 1.5},
    {"nsize": 1, "alpha": 2.0, "beta": 1.0, "knorm": 0.1},
    {"nsize": 21, "alpha": 1.0, "beta": 0.75, "knorm": 0.5},
]


def around(x, size):
    """Sums of the `size` channels around each."""
    half = size // 2
    return np.stack([x[:, max(c - half, 0) : c + half + 1].sum(1) for c in range(x.shape[1])], 1)


def expected(x, grad, nsize, alpha=1e-4, beta=0.75, knorm=2.0):
    x, grad = x.astype(np.longdouble), grad.astype(np.longdouble)
    norm = knorm + alpha / nsize * around(x * x, nsize)
    power = norm ** np.longdouble(-beta)
    part = 2 * alpha * beta / nsize * x * around(grad * x * power / norm, nsize)
    return x * power, grad * power - part


def run(x, grad, params, last, req=1):
    """Out and gradient; with req = 3 (add) both are added to ones."""
    op = Ready("LRN", [turned(x) if last else x], params)
    if last:
        op.channels_last()
    begin = np.nan if req == 1 else 1
    out = op.forward(req, op.blank(begin))
    got = op.backward([turned(grad) if last else grad], out, req, [np.full_like(x, begin)])
    return [turned_back(y) if last else y for y in (*out, *got)]


def draw(seed, shape, dtype):
    rng = np.random.RandomState(seed)
    return [rng.standard_normal(shape).astype(dtype) * 2 for _ in range(2)]


@pytest.mark.parametrize("dtype, last", [("float32", False), ("float32", True), ("float64", False)])
@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_against_longer_numbers(params, dtype, last):
    eps = np.finfo(dtype).eps
    for shape in SHAPES:
        x, grad = draw(1, shape, dtype)
        out, dx = expected(x, grad, **params)
        got_out, got_dx = run(x, grad, params, last)
        np.testing.assert_allclose(got_out, out, rtol=6 * eps, err_msg=str(shape))
        np.testing.assert_allclose(got_dx, dx, rtol=0, atol=8 * eps * np.abs(dx).max())


@pytest.mark.parametrize("last", [False, True])
def test_added(last):
    for shape in SHAPES:
        x, grad = draw(2, shape, "float32")
        for want, got in zip(
            expected(x, grad, 5), run(x, grad, {"nsize": 5}, last, req=3), strict=True
        ):
            np.testing.assert_allclose(got, want + 1, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("params", SETTINGS[:3], ids=str)
def test_nan_and_infinity_reach_the_channels_around(params, last):
    """No further: not the ends of other lines either."""
    x, grad = draw(3, (2, 40, 3, 3), "float32")
    x[0, 1, 0, 1], x[1, 39, 2, 0] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        want = expected(x, grad, **params)
    for got, wanted in zip(run(x, grad, params, last), want, strict=True):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))
        np.testing.assert_allclose(got, wanted.astype(np.float32), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("last", [False, True])
def test_no_number_of_threads_changes_a_bit(last):
    x, grad = draw(4, (3, 24, 37, 41), "float32")
    found = []
    for threads in (1, 2, 3):
        before = set_num_threads(threads, beyond_cores=True)
        try:
            found.append(run(x, grad, {"nsize": 5}, last))
        finally:
            set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_nothing_of_no_channels():
    x = np.zeros((2, 0, 3), np.float32)
    assert [y.shape for y in run(x, x, {"nsize": 3}, False)] == [x.shape] * 2
