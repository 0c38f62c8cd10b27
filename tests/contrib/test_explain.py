"""Explanations: slow counts in NumPy, numeric gradients, scikit-learn's importance."""

import numpy as np
import pytest

import cynet as mx
from cynet.contrib.explain import grad_cam, integrated_gradients, permutation_importance, saliency
from cynet.gluon import nn


def layers(*blocks):
    net = nn.HybridSequential()
    net.add(*blocks)
    net.initialize(mx.init.Normal(0.5))
    return net


@pytest.fixture
def net():
    mx.random.seed(2)
    made = layers(nn.Dense(8, activation="tanh", in_units=5), nn.Dropout(0.5), nn.Dense(3))
    made(mx.nd.ones((1, 5)))
    return made


def in_numpy(net, x):
    """What the network of two Dense layers gives, in 64 bits."""
    first, last = net[0], net[2]
    values = [
        p.data().asnumpy().astype(float) for p in (first.weight, first.bias, last.weight, last.bias)
    ]
    return np.tanh(x @ values[0].T + values[1]) @ values[2].T + values[3]


def numeric(f, x, eps=1e-5):
    """The gradient of f, (rows,) of (rows, n), by central differences."""
    grad = np.zeros_like(x)
    for i in range(x.shape[1]):
        step = np.zeros_like(x)
        step[:, i] = eps
        grad[:, i] = (f(x + step) - f(x - step)) / (2 * eps)
    return grad


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("target", [None, 1, [0, 2, 1, 1]])
def test_saliency_is_the_gradient_of_the_class(rng, net, target, hybrid):
    x = rng.normal(size=(4, 5))
    classes = in_numpy(net, x).argmax(1) if target is None else np.broadcast_to(target, 4)
    if hybrid:
        net.hybridize()
    wanted = numeric(lambda x: in_numpy(net, x)[np.arange(4), classes], x)
    np.testing.assert_allclose(saliency(net, x, target).asnumpy(), wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("baseline", [0.0, "row", "all"])
@pytest.mark.parametrize("target", [None, 1, [0, 2, 1, 1]])
def test_integrated_gradients(rng, net, target, baseline):
    x = rng.normal(size=(4, 5))
    classes = in_numpy(net, x).argmax(1) if target is None else np.broadcast_to(target, 4)
    begin = {"row": rng.normal(size=5), "all": rng.normal(size=(4, 5))}.get(baseline, 0.0)
    found = integrated_gradients(net, x, target, begin, steps=200).asnumpy()
    whole = np.broadcast_to(begin, x.shape)

    def score(x):
        return in_numpy(net, x)[np.arange(4), classes]

    np.testing.assert_allclose(found.sum(1), score(x) - score(whole), rtol=1e-3, atol=1e-3)
    ways = [(each + 0.5) / 400 for each in range(400)]
    mean = np.mean([numeric(score, whole + way * (x - whole)) for way in ways], axis=0)
    np.testing.assert_allclose(found, mean * (x - whole), rtol=1e-3, atol=1e-3)


def pictures(rng):
    mx.random.seed(4)
    net = layers(
        nn.Conv2D(4, 3, in_channels=2, activation="relu"),
        nn.Conv2D(5, 3, in_channels=4),
        nn.GlobalAvgPool2D(),
        nn.Dense(3, in_units=5),
    )
    return net, mx.nd.array(rng.normal(size=(3, 2, 9, 9)))


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("target", [None, 2])
def test_grad_cam_of_a_mean_is_the_weighted_sum_of_maps(rng, target, hybrid, frozen):
    """Where the layer's mean is what Dense takes, gradients are its weights (Zhou et al.)."""
    net, x = pictures(rng)
    if hybrid:
        net.hybridize()
    if frozen:
        net.collect_params().setattr("grad_req", "null")
    out = net(x).asnumpy()
    classes = out.argmax(1) if target is None else np.full(3, target)
    maps = net[1](net[0](x)).asnumpy().astype(float)
    weights = net[3].weight.data().asnumpy()[classes]
    wanted = np.maximum((weights[:, :, None, None] * maps).sum(1), 0)
    wanted /= np.maximum(wanted.max(axis=(1, 2), keepdims=True), 1e-30)
    found = grad_cam(net, x, net[1], target).asnumpy()
    assert found.shape == (3, 5, 5) and found.max() <= 1
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(net(x).asnumpy(), out, rtol=1e-6)  # and it goes on as before
    assert not net[1]._forward_hooks
    assert grad_cam(net, x, net[0]).shape == (3, 7, 7)


def test_a_map_of_nothing_is_zero():
    net = layers(nn.Conv2D(1, 1, in_channels=1), nn.GlobalAvgPool2D(), nn.Flatten())
    net[0].weight.set_data(mx.nd.array([[[[-1.0]]]]))
    assert grad_cam(net, mx.nd.ones((1, 1, 2, 2)), net[0]).asnumpy().tolist() == [[[0, 0], [0, 0]]]


def test_permutation_importance_is_near_scikit_learns(rng):
    inspection = pytest.importorskip("sklearn.inspection")
    linear = pytest.importorskip("sklearn.linear_model")
    x = rng.normal(size=(300, 3))
    y = 3 * x[:, 0] + x[:, 1]
    model = linear.LinearRegression().fit(x, y)
    wanted = inspection.permutation_importance(model, x, y, n_repeats=400, random_state=0)
    found = permutation_importance(model.score, mx.nd.array(x), y, repeats=400)
    np.testing.assert_allclose(found.mean, wanted.importances_mean, rtol=0.05, atol=1e-3)
    assert found.each.shape == (3, 400) and (found.std[:2] > 0).all()
    again = permutation_importance(model.score, x.astype("float32"), y, repeats=400)
    np.testing.assert_array_equal(found.each, again.each)
    pixels = x.reshape(300, 3, 1)  # columns of more axes
    of_pixels = permutation_importance(lambda x, y: model.score(x[..., 0], y), pixels, y, 400)
    np.testing.assert_allclose(of_pixels.mean, found.mean, rtol=1e-5, atol=1e-7)


def test_one_output():
    net = layers(nn.Dense(1, in_units=2))
    for each in (saliency, integrated_gradients):
        with pytest.raises(ValueError, match="there is one output, target must be None"):
            each(net, [[1.0, 2.0]], 0)
    weight = net[0].weight.data().asnumpy()
    np.testing.assert_allclose(saliency(net, [[1.0, 2.0]]).asnumpy(), weight, rtol=1e-6)


def test_what_is_refused(rng, net):
    x = rng.normal(size=(4, 5))
    for each in (saliency, integrated_gradients, lambda *a: grad_cam(*a[:2], nn.Dense(1), *a[2:])):
        with pytest.raises(TypeError, match="takes a Block, got 3"):
            each(3, x) if each in (saliency, integrated_gradients) else saliency(3, x)
    for target in (3, -1, 0.5, [0, 1], "a", [[0]] * 4):
        for each in (saliency, integrated_gradients):
            with pytest.raises(
                ValueError, match="target is a class from 0 to 2, or one of each of 4"
            ):
                each(net, x, target)
    with pytest.raises(ValueError, match=r"baseline has shape \(3,\), x \(4, 5\)"):
        integrated_gradients(net, x, baseline=np.zeros(3))
    with pytest.raises(ValueError, match="steps must be an int from 1 on"):
        integrated_gradients(net, x, steps=0)
    pool = layers(nn.Conv2D(2, 3))
    with pytest.raises(ValueError, match=r"expected an output of shape \(rows,\) or \(rows, cl"):
        saliency(pool, np.zeros((1, 1, 5, 5)))
    made, images = pictures(rng)
    with pytest.raises(TypeError, match="grad_cam: layer is a Block, got 'conv'"):
        grad_cam(made, images, "conv")
    with pytest.raises(ValueError, match="the network calls conv.* 0 times"):
        grad_cam(made, images, nn.Conv2D(3, 3))
    with pytest.raises(ValueError, match=r"dense.* gives .*, expected \(rows, channels, height"):
        grad_cam(made, images, made[3])
    assert not made[3]._forward_hooks
    with pytest.raises(ValueError, match=r"expected x of shape \(rows, columns, \.\.\.\)"):
        permutation_importance(lambda x, y: 0, np.zeros(4), np.zeros(4))
    with pytest.raises(ValueError, match="repeats must be an int from 1 on"):
        permutation_importance(lambda x, y: 0, x, np.zeros(4), 0)
