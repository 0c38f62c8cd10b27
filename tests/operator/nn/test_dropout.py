"""Dropout in training and the random slopes of rrelu: shares, scaling, the mask in backward."""

import numpy as np
import pytest
from cynet.operator._testing import run_forward

from tests.operator.direct import WRITE, Ready


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("p", [0.0, 0.3, 0.9, 1.0])
def test_elements_are_dropped_or_scaled(p, dtype):
    x = np.random.RandomState(0).uniform(1, 2, (200, 203)).astype(dtype)
    ready = Ready("Dropout", [x], {"p": p})
    y, mask = ready.forward()
    assert mask.dtype == bool and mask.shape == x.shape
    kept = x / (1 - p) if p < 1 else x
    np.testing.assert_allclose(y, np.where(mask, kept, 0), rtol=1e-6)
    assert abs(mask.mean() - (1 - p)) < 0.012  # five standard deviations
    grad = np.random.RandomState(1).standard_normal(x.shape).astype(dtype)
    (dx,) = ready.backward([grad], [y, mask])
    np.testing.assert_allclose(dx, np.where(mask, grad / (1 - p) if p < 1 else 0, 0), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("params", [{"p": 0.4}, {"p": 0.4, "axes": (1,)}, {"mode": "always"}])
def test_the_request_to_add_in_training(params, dtype):
    """What is there stays, also where an element is dropped; forward and backward."""
    x = np.random.RandomState(0).uniform(1, 2, (20, 23)).astype(dtype)
    ready, scale = Ready("Dropout", [x], params), 1 - params.get("p", 0.5)
    out = [np.full(x.shape, 100, dtype), ready.blank()[1]]
    run_forward(ready.operator, [x], [3, WRITE], out, [], True, ready.resources[0])
    mask = np.broadcast_to(out[1], x.shape)
    assert 0.2 < mask.mean() < 0.9
    np.testing.assert_allclose(out[0], 100 + np.where(mask, x / scale, 0), rtol=1e-6)
    (dx,) = ready.backward([x], out, req=3, grads=[np.full(x.shape, 100, dtype)])
    np.testing.assert_allclose(dx, 100 + np.where(mask, x / scale, 0), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_request_to_add_of_random_slopes(dtype):
    x = np.random.RandomState(0).uniform(-2, 2, (20, 23)).astype(dtype)
    ready = Ready("LeakyReLU", [x], {"act_type": "rrelu", "lower_bound": 0.1, "upper_bound": 0.3})
    out = [np.full(x.shape, 100, dtype), ready.blank()[1]]
    run_forward(ready.operator, [x], [3, WRITE], out, [], True, ready.resources[0])
    slopes = np.where(x > 0, 1, out[1])
    assert ((out[1] >= 0.1) & (out[1] <= 0.3)).all() and out[1].std() > 0.03
    np.testing.assert_allclose(out[0], 100 + x * slopes, rtol=1e-6)
    (dx,) = ready.backward([x], out, req=3, grads=[np.full(x.shape, 100, dtype)])
    np.testing.assert_allclose(dx, 100 + x * slopes, rtol=1e-6)


def test_each_run_draws_another_mask():
    ready = Ready("Dropout", [np.ones((50, 50), "float32")])
    assert (ready.forward()[1] != ready.forward()[1]).any()


def test_prediction_keeps_everything_unless_always():
    x = np.ones((40, 50), "float32")
    (y, _) = Ready("Dropout", [x]).forward(train=False)
    np.testing.assert_array_equal(y, x)
    (y, mask) = Ready("Dropout", [x], {"mode": "always"}).forward(train=False)
    np.testing.assert_array_equal(y, 2 * mask)
    assert 0.3 < mask.mean() < 0.7


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_axes_share_one_fate(axes):
    x = np.random.RandomState(0).uniform(1, 2, (6, 7, 8))
    ready = Ready("Dropout", [x], {"axes": axes})
    y, mask = ready.forward()
    assert mask.shape == tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    np.testing.assert_allclose(y, np.where(mask, 2 * x, 0))
    (dx,) = ready.backward([x], [y, mask])
    np.testing.assert_allclose(dx, y)


def test_rrelu_slopes():
    x = np.random.RandomState(0).standard_normal((100, 100))
    ready = Ready("LeakyReLU", [x], {"act_type": "rrelu", "lower_bound": 0.1, "upper_bound": 0.3})
    y, slopes = ready.forward()
    assert slopes.min() >= 0.1 and slopes.max() <= 0.3 and abs(slopes.mean() - 0.2) < 0.005
    np.testing.assert_allclose(y, np.where(x > 0, x, slopes * x))
    (dx,) = ready.backward([np.ones_like(x)], [y, slopes])
    np.testing.assert_allclose(dx, np.where(x > 0, 1, slopes))
