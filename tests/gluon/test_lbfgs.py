"""gluon.LBFGS: minima that are known, limits, what a closure has to do."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd

pytest.importorskip("scipy")


def parameter(value, dtype="float64", name="x", **settings):
    made = gluon.Parameter(name, shape=np.shape(value), dtype=dtype, **settings)
    made.initialize(mx.init.Constant(nd.array(value, dtype=dtype)))
    return made


def closure_of(function, calls=None):
    def closure():
        if calls is not None:
            calls.append(1)
        with autograd.record():
            loss = function()
        loss.backward()
        return loss

    return closure


@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_rosenbrock(grad_req):
    x = parameter([-1.2, 1.0], grad_req=grad_req)

    def rosenbrock():
        a, b = x.data()[0:1], x.data()[1:2]
        return ((1 - a) ** 2 + 100 * (b - a * a) ** 2).sum()

    optimizer = gluon.LBFGS([x], max_iter=200)
    loss = optimizer.step(closure_of(rosenbrock))
    np.testing.assert_allclose(x.data().asnumpy(), [1, 1], 1e-4)
    assert loss < 1e-9 and optimizer.n_iter < 100 and optimizer.message


def test_least_squares_of_two_parameters(rng):
    a, y = rng.standard_normal((20, 4)), rng.standard_normal((20, 1))
    net = gluon.nn.Dense(1, in_units=4)
    net.initialize()
    x, target = nd.array(a), nd.array(y)
    optimizer = gluon.LBFGS(net.collect_params(), max_iter=100)
    optimizer.step(closure_of(lambda: ((net(x) - target) ** 2).sum()))
    wanted = np.linalg.lstsq(np.hstack([a, np.ones((20, 1))]), y, rcond=None)[0].ravel()
    np.testing.assert_allclose(net.weight.data().asnumpy().ravel(), wanted[:4], 1e-3, 1e-4)
    np.testing.assert_allclose(net.bias.data().asnumpy(), wanted[4:], 1e-3, 1e-4)


def test_limits():
    x = parameter([5.0])
    calls = []
    optimizer = gluon.LBFGS([x], max_iter=1)
    optimizer.step(closure_of(lambda: (x.data() ** 4).sum(), calls))
    assert optimizer.n_iter == 1 and len(calls) <= 3
    x.set_data(nd.array([0.0], dtype="float64"))
    assert gluon.LBFGS([x]).step(closure_of(lambda: (x.data() ** 2).sum())) == 0


def test_the_best_weights_are_kept():
    """A line search that ends in a worse place leaves the better one."""
    x = parameter([1.0])
    optimizer = gluon.LBFGS([x], max_iter=20, max_eval=2)
    loss = optimizer.step(closure_of(lambda: (x.data() ** 2).sum()))
    np.testing.assert_allclose(float(x.data().asscalar()) ** 2, loss, 1e-12)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda x: gluon.LBFGS([]), "no parameter that has a gradient"),
        (lambda x: gluon.LBFGS([parameter([1.0], grad_req="null")]), "no parameter that has"),
        (lambda x: gluon.LBFGS([1]), "params are Parameters, got 1"),
        (lambda x: gluon.LBFGS([x], max_iter=-1), "max_iter"),
        (
            lambda x: gluon.LBFGS([x], history_size=0),
            "history_size must be an int from 1 on, got 0",
        ),
        (
            lambda x: gluon.LBFGS([x], tolerance_grad=-1),
            "tolerance_grad must be at least 0, got -1",
        ),
        (lambda x: gluon.LBFGS([x]).step(lambda: nd.ones(2)), "returns the loss, one number"),
        (lambda x: gluon.LBFGS([x]).step(lambda: nd.ones(1)), "gradient of parameter 'x'"),
    ],
)
def test_refused(make, says):
    with pytest.raises(mx.MXNetError, match=says):
        make(parameter([1.0]))
