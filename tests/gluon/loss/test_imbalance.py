"""Focal losses and Dice's: formulas in NumPy's float64, numeric gradients, extremes, weights."""

import numpy as np
import pytest
from scipy.special import expit, log_expit, log_softmax

import cynet as mx
from cynet import autograd, nd
from cynet.gluon import loss as losses


@pytest.fixture(params=["eager", "hybrid"])
def run(request):
    def call(loss, *inputs):
        if request.param == "hybrid":
            loss.hybridize()
        return loss(*[nd.array(each) for each in inputs])

    return call


def sigmoid_focal(x, t, gamma, alpha):
    p = expit(x)
    parts = t * (1 - p) ** gamma * -log_expit(x), (1 - t) * p**gamma * -log_expit(-x)
    shares = (1, 1) if alpha is None else (alpha, 1 - alpha)
    return (shares[0] * parts[0] + shares[1] * parts[1]).reshape(len(x), -1).mean(1)


def softmax_focal(x, t, gamma, axis=-1):
    log = np.take_along_axis(log_softmax(x, axis), np.expand_dims(t, axis), axis)
    return (-((1 - np.exp(log)) ** gamma) * log).reshape(len(x), -1).mean(1)


def dice(p, t, smooth):
    p, t = p.reshape(len(p), -1), t.reshape(len(t), -1)
    return 1 - (2 * (p * t).sum(1) + smooth) / (p.sum(1) + t.sum(1) + smooth)


@pytest.mark.parametrize("gamma, alpha", [(2, 0.25), (0, None), (0.5, 0.9), (3.5, 0)])
def test_sigmoid_focal(run, gamma, alpha, rng):
    x, t = rng.normal(size=(3, 4, 5)) * 3, rng.integers(0, 2, (3, 4, 5))
    found = run(losses.SigmoidFocalLoss(gamma, alpha), x, t)
    np.testing.assert_allclose(found.asnumpy(), sigmoid_focal(x, t, gamma, alpha), 2e-5)


def test_sigmoid_focal_of_gamma_0_is_the_cross_entropy(run, rng):
    x, t = rng.normal(size=(3, 4)), rng.random((3, 4))  # labels in between, too
    found = run(losses.SigmoidFocalLoss(0, None), x, t).asnumpy()
    wanted = -(t * log_expit(x) + (1 - t) * log_expit(-x)).mean(1)
    np.testing.assert_allclose(found, wanted, 1e-5)


@pytest.mark.parametrize("gamma", [0, 0.5, 2, 5])
@pytest.mark.parametrize("axis", [1, -1])
def test_softmax_focal(run, gamma, axis, rng):
    x = rng.normal(size=(3, 4, 4)) * 2
    t = rng.integers(0, 4, (3, 4))
    found = run(losses.SoftmaxFocalLoss(axis, gamma), x, t)
    np.testing.assert_allclose(found.asnumpy(), softmax_focal(x, t, gamma, axis), 2e-5)
    dense = run(losses.SoftmaxFocalLoss(axis, gamma, False), x, np.moveaxis(np.eye(4)[t], -1, axis))
    # the mean is over what is left of the classes' axis, as of a sparse label
    np.testing.assert_allclose(dense.asnumpy(), found.asnumpy(), 1e-5)
    logs = run(losses.SoftmaxFocalLoss(axis, gamma, from_logits=True), log_softmax(x, axis), t)
    np.testing.assert_allclose(logs.asnumpy(), found.asnumpy(), 2e-5)


@pytest.mark.parametrize("smooth", [0, 1, 0.1])
def test_dice(run, smooth, rng):
    x, t = rng.normal(size=(2, 3, 4)), rng.integers(0, 2, (2, 3, 4))
    found = run(losses.DiceLoss(smooth=smooth), x, t)
    np.testing.assert_allclose(found.asnumpy(), dice(expit(x), t, smooth), 1e-5)
    found = run(losses.DiceLoss(True, smooth), expit(x), t)
    np.testing.assert_allclose(found.asnumpy(), dice(expit(x), t, smooth), 1e-5)


def test_empty_regions_overlap(run):
    empty = np.zeros((1, 4))
    assert run(losses.DiceLoss(from_sigmoid=True), empty, empty).asscalar() == 0


@pytest.mark.parametrize(
    "make, formula",
    [
        (lambda: losses.SigmoidFocalLoss(), lambda x, t: sigmoid_focal(x, t, 2, 0.25)),
        (lambda: losses.SigmoidFocalLoss(0.5, None), lambda x, t: sigmoid_focal(x, t, 0.5, None)),
        (lambda: losses.DiceLoss(), lambda x, t: dice(expit(x), t, 1)),
        (lambda: losses.SoftmaxFocalLoss(), lambda x, t: softmax_focal(x, t[:, 0], 2)),
        (lambda: losses.SoftmaxFocalLoss(gamma=0.5), lambda x, t: softmax_focal(x, t[:, 0], 0.5)),
    ],
)
def test_gradients(make, formula, rng):
    x, t = rng.normal(size=(2, 3)), rng.integers(0, 2, (2, 3))
    loss, data = make(), nd.array(x)
    label = nd.array(t[:, 0] if isinstance(loss, losses.SoftmaxFocalLoss) else t)
    data.attach_grad()
    with autograd.record():
        found = loss(data, label).sum()
    found.backward()
    wanted = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-6
        wanted[place] = (formula(x + step, t).sum() - formula(x - step, t).sum()) / 2e-6
    np.testing.assert_allclose(data.grad.asnumpy(), wanted, 1e-4, 1e-6)


@pytest.mark.parametrize("gamma", [0, 0.5, 1, 2])
def test_extreme_scores_have_finite_losses_and_gradients(gamma):
    data = nd.array([[100, -100], [-100, 100], [0, 0]])
    for loss, label in (
        (losses.SigmoidFocalLoss(gamma), [[1, 0]] * 3),
        (losses.SoftmaxFocalLoss(gamma=gamma), [0, 0, 0]),
    ):
        data.attach_grad()
        with autograd.record():
            found = loss(data, nd.array(label))
        found.backward()
        assert abs(found[0].asscalar()) < 1e-40 and found[1].asscalar() > 20
        assert np.isfinite(data.grad.asnumpy()).all()


def test_weights(run, rng):
    x, t = rng.normal(size=(2, 3)), rng.integers(0, 2, (2, 3))
    for make, label, weights in (
        (losses.SigmoidFocalLoss, t, [[1], [0]]),
        (losses.SoftmaxFocalLoss, t[:, 0], [[1], [0]]),
        (losses.DiceLoss, t, [1, 0]),
    ):
        plain = run(make(), x, label).asnumpy()
        found = run(make(weight=3), x, label, weights).asnumpy()
        np.testing.assert_allclose(found, [3 * plain[0], 0], 1e-6)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: losses.SigmoidFocalLoss(-1), "gamma must be a number of 0 or more, got -1"),
        (lambda: losses.SigmoidFocalLoss(alpha=1.5), "alpha must be a number from 0 to 1, got 1.5"),
        (lambda: losses.SoftmaxFocalLoss(gamma="2"), "gamma must be a number"),
        (lambda: losses.SoftmaxFocalLoss(gamma=float("nan")), "gamma must be a number"),
        (lambda: losses.DiceLoss(smooth=True), "smooth must be a number"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(mx.errors.ArgumentError, match=message):
        make()


def test_a_label_that_is_no_class():
    with pytest.raises(ValueError, match="index 5"):
        losses.SoftmaxFocalLoss()(nd.zeros((1, 3)), nd.array([5])).wait_to_read()
