"""Dropout in training and the random slopes of rrelu: shares, scaling, the mask in backward."""

import numpy as np
import pytest

from tests.operator.nn.harness import Ready


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
