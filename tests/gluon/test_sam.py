"""gluon.SAM against NumPy: where it goes, what it leaves as it was, what it refuses."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd
from cynet.base.errors import ArgumentError, ArgumentTypeError
from cynet.gluon import nn
from cynet.gluon.errors import StaleGradientError


def data(rng, rows=12):
    x = rng.standard_normal((rows, 3)).astype("float32")
    return x, (x @ rng.standard_normal((3, 1)) + 0.3).astype("float32")


def network(ctx=None):
    net = nn.Dense(1, in_units=3)
    net.initialize(mx.init.Normal(0.5), ctx=ctx)
    return net


def closure_of(net, x, y, calls=None):
    loss = gluon.loss.L2Loss()

    def closure():
        with autograd.record():
            losses = [loss(net(a), b) for a, b in zip(x, y)]
        autograd.backward(losses)
        if calls is not None:
            calls.append(net.weight.data(x[0].context).asnumpy())
        return losses

    return closure


@pytest.mark.parametrize("adaptive", [False, True])
def test_steps_are_those_of_numpy(rng, adaptive):
    """SGD with momentum, ten steps."""
    x, y = data(rng)
    net = network()
    w, b = (p.data().asnumpy().astype("float64") for p in (net.weight, net.bias))
    settings = {"learning_rate": 0.1, "momentum": 0.9}
    trainer = gluon.Trainer(net.collect_params(), "sgd", settings)
    sam = gluon.SAM(trainer, rho=0.2, adaptive=adaptive)
    closure = closure_of(net, [nd.array(x)], [nd.array(y)])
    momenta = [np.zeros_like(w), np.zeros_like(b)]

    def slopes(w, b):
        error = x @ w.T + b - y
        return error.T @ x, error.sum(axis=0)

    for _ in range(10):
        first = 0.5 * (x @ w.T + b - y) ** 2
        (found,) = sam.step(closure, len(x))
        np.testing.assert_allclose(found.asnumpy(), first[:, 0], rtol=1e-3, atol=1e-5)
        scales = (np.abs(w), np.abs(b)) if adaptive else (1, 1)
        ways = [g * s for g, s in zip(slopes(w, b), scales)]
        norm = np.sqrt(sum((way**2).sum() for way in ways))
        w_far, b_far = (v + 0.2 * s * way / norm for v, s, way in zip((w, b), scales, ways))
        grads = slopes(w_far, b_far)
        momenta = [0.9 * m - 0.1 * g / len(x) for m, g in zip(momenta, grads)]
        w, b = w + momenta[0], b + momenta[1]
        np.testing.assert_allclose(net.weight.data().asnumpy(), w, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(net.bias.data().asnumpy(), b, rtol=1e-3, atol=1e-5)


def test_several_devices_stay_alike(rng):
    devices = [mx.cpu(0), mx.cpu(1)]
    x, y = data(rng)
    net = network(devices)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    parts = [gluon.utils.split_and_load(nd.array(each), devices) for each in (x, y)]
    sam = gluon.SAM(trainer, rho=0.1)
    first = net.weight.data(devices[0]).asnumpy()
    for _ in range(3):
        sam.step(closure_of(net, *parts), len(x))
    one, other = (net.weight.data(each).asnumpy() for each in devices)
    np.testing.assert_array_equal(one, other)
    assert (one != first).all()


@pytest.mark.parametrize("hybridized", [False, True])
def test_statistics_are_of_the_first_pass(rng, hybridized):
    x = nd.array(rng.standard_normal((8, 3)))
    nets = []
    for _ in range(2):
        net = nn.HybridSequential()
        net.add(nn.Dense(4, in_units=3), nn.BatchNorm(in_channels=4), nn.Dense(1, in_units=4))
        net.initialize(mx.init.One())
        if hybridized:
            net.hybridize()
        nets.append(net)

    def closure_for(net):
        def closure():
            with autograd.record():
                loss = (net(x) ** 2).mean()
            loss.backward()
            return loss

        return closure

    trainer = gluon.Trainer(nets[0].collect_params(), "adam")
    gluon.SAM(trainer, rho=0.5).step(closure_for(nets[0]), 1)
    closure_for(nets[1])()
    for name in ("running_mean", "running_var"):
        of = [getattr(net[1], name).data().asnumpy() for net in nets]
        np.testing.assert_array_equal(*of)


def test_an_error_leaves_the_weights(rng):
    x, y = data(rng)
    net = network()
    before = net.weight.data().asnumpy()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    calls = []
    whole = closure_of(net, [nd.array(x)], [nd.array(y)], calls)

    def closure():
        if calls:
            calls.append(net.weight.data().asnumpy())
            raise KeyboardInterrupt
        return whole()

    with pytest.raises(KeyboardInterrupt):
        gluon.SAM(trainer, rho=0.3).step(closure, len(x))
    assert abs(np.linalg.norm(calls[1] - before) - 0.3) < 0.1 and (calls[1] != before).any()
    np.testing.assert_array_equal(net.weight.data().asnumpy(), before)


def test_no_gradient_moves_nothing():
    net = network()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    calls = []
    closure = closure_of(net, [nd.zeros((2, 3))], [net(nd.zeros((2, 3)))], calls)
    gluon.SAM(trainer).step(closure, 2)
    np.testing.assert_array_equal(*calls)


def test_what_is_refused():
    net = network()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    for wrong in (0, -1.0):
        with pytest.raises(ArgumentError, match=f"rho must be above 0, got {wrong}"):
            gluon.SAM(trainer, rho=wrong)
    for settings in ({"rho": "far"}, {"adaptive": "yes"}):
        with pytest.raises(ArgumentTypeError, match=next(iter(settings))):
            gluon.SAM(trainer, **settings)
    with pytest.raises(ArgumentTypeError, match="SAM: trainer must be a Trainer"):
        gluon.SAM(net)
    for times in (0, 1):  # the closure that stops to compute gradients, at once or behind one pass
        calls = []
        whole = closure_of(net, [nd.ones((2, 3))], [nd.ones((2, 1))])

        def closure(calls=calls, whole=whole, times=times):
            calls.append(len(calls))
            return whole() if len(calls) <= times else None

        with pytest.raises(StaleGradientError, match="SAM: the closure has not computed .*weight"):
            gluon.SAM(trainer).step(closure, 2)
        assert len(calls) == times + 1
    net.collect_params().setattr("grad_req", "add")
    with pytest.raises(ArgumentError, match="must have grad_req='write' and a dense gradient"):
        gluon.SAM(trainer).step(closure_of(net, [nd.ones((2, 3))], [nd.ones((2, 1))]), 2)
