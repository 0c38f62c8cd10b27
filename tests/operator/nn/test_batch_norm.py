"""BatchNorm: when the moving statistics move, and precision where the mean is large."""

import numpy as np
import pytest

import cynet as mx
from tests.operator.direct import Ready, turned, turned_back

GAMMA, BETA = np.array([1.5, 0.5, 2.0]), np.array([0.1, -0.2, 0.3])


def ready(x, params=None):
    aux = [np.array([0.5, 0.25, -1.0]), np.array([1.0, 2.0, 0.5])]
    return Ready("BatchNorm", [x, GAMMA, BETA], {"fix_gamma": False, **(params or {})}, aux)


def test_backward_moves_the_statistics():
    x = np.random.RandomState(0).standard_normal((4, 3, 5))
    run = ready(x)
    before = [a.copy() for a in run.aux]
    out = run.forward()
    np.testing.assert_array_equal(run.aux, before)
    run.backward([np.ones_like(x)], out)
    np.testing.assert_allclose(run.aux[0], 0.9 * before[0] + 0.1 * x.mean((0, 2)))
    np.testing.assert_allclose(run.aux[1], 0.9 * before[1] + 0.1 * x.var((0, 2)))


def test_statistics_stay_in_prediction_and_when_global():
    x = np.random.RandomState(0).standard_normal((4, 3, 5))
    for params, train in (({}, False), ({"use_global_stats": True}, True)):
        run = ready(x, params)
        before = [a.copy() for a in run.aux]
        run.backward([np.ones_like(x)], run.forward(train=train), train=train)
        np.testing.assert_array_equal(run.aux, before)


def test_large_mean_small_variance():
    x = (1000 + np.random.RandomState(0).standard_normal((64, 3, 40)) * 0.1).astype("float32")
    run = Ready(
        "BatchNorm",
        [x, np.ones(3, "float32"), np.zeros(3, "float32")],
        {"eps": 1e-5},
        [np.zeros(3, "float32"), np.ones(3, "float32")],
    )
    y = run.forward()[0]
    wide = x.astype("float64")
    mean, var = wide.mean((0, 2), keepdims=True), wide.var((0, 2), keepdims=True)
    np.testing.assert_allclose(y, (wide - mean) / np.sqrt(var + 1e-5), atol=5e-3)


ROWS = [((37, 21), 1), ((5, 4, 3, 18), -1), ((300, 1), 1), ((2, 37, 61, 20), -1), ((701, 512), 1)]


@pytest.mark.parametrize("shape, axis", ROWS)
@pytest.mark.parametrize("params", [{}, {"fix_gamma": True}, {"use_global_stats": True}])
def test_rows_of_channels(shape, axis, params):
    """float32 rows go through loops of their own; float64 through those of planes."""
    rng = np.random.RandomState(3)
    channels = shape[axis]
    arrays = [rng.standard_normal(shape) + 2, *rng.uniform(0.5, 2, (2, channels))]
    aux = [rng.standard_normal(channels), rng.uniform(0.5, 2, channels)]
    grad = rng.standard_normal(shape)
    found = []
    for dtype in ("float32", "float64"):
        run = Ready(
            "BatchNorm",
            [x.astype(dtype) for x in arrays],
            {"fix_gamma": False, "axis": axis, **params},
            [x.astype(dtype) for x in aux],
        )
        out = run.forward()
        grads = run.backward([grad.astype(dtype)], out)
        predicted = run.forward(train=False)[:1]
        found.append([*out, *grads, *run.aux, *predicted])
    for single, double in zip(*found, strict=True):
        np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-5 * np.abs(double).max())


@pytest.mark.parametrize("passes", ["all", "none"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("grad_req", ["write", "null"])
def test_statistics_move_in_front_of_blocked_gradients(monkeypatch, rng, grad_req, dtype, passes):
    """As in MXNet 1.9.1: where gradients are asked for and BlockGrad lets none through."""
    monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
    net = mx.sym.BatchNorm(mx.sym.var("data"), momentum=0.75, fix_gamma=False, name="low")
    net = mx.sym.Convolution(net, num_filter=3, kernel=(3, 3), pad=(1, 1), name="conv")
    net = mx.sym.Activation(mx.sym.BatchNorm(net, momentum=0.75, name="high"), act_type="relu")
    net = mx.sym.FullyConnected(mx.sym.BlockGrad(net), num_hidden=2, name="fc")
    requests = {name: grad_req for name in net.list_arguments() if not name.startswith("fc")}
    requests.update(fc_weight="write", fc_bias="write")
    types = dict.fromkeys(net.list_arguments(), dtype)
    executor = net.simple_bind(mx.cpu(), requests, types, data=(4, 2, 5, 6))
    for array in executor.arg_dict.values():
        array[:] = 1 + rng.standard_normal(array.shape)
    executor.aux_dict["low_moving_var"][:] = executor.aux_dict["high_moving_var"][:] = 1
    for grad in executor.grad_arrays:
        if grad is not None:
            grad[:] = 7
    executor.forward(is_train=True)
    executor.backward(mx.nd.ones((4, 2), dtype=dtype))
    data = executor.arg_dict["data"].asnumpy().astype("d")
    keep = 0.75 if grad_req == "write" else 1
    mean, var = data.mean((0, 2, 3)), data.var((0, 2, 3))
    found = executor.aux_dict
    np.testing.assert_allclose(found["low_moving_mean"].asnumpy(), (1 - keep) * mean, 1e-5)
    np.testing.assert_allclose(found["low_moving_var"].asnumpy(), keep + (1 - keep) * var, 1e-5)
    moved = found["high_moving_mean"].asnumpy() != 0
    assert moved.all() if grad_req == "write" else not moved.any()
    for name in requests if grad_req == "write" else ():
        if not name.startswith("fc"):
            np.testing.assert_array_equal(executor.grad_dict[name].asnumpy(), 0, err_msg=name)


def folded(x, gamma, beta, dy, relu):
    """Output and gradients of relu(batch norm) of x, (N, C, size)."""
    mean, var, axes = x.mean((0, 2)), x.var((0, 2)), (0, 2)
    scale = (gamma / np.sqrt(var + 1e-3))[:, None]
    normal = (x - mean[:, None]) / np.sqrt(var + 1e-3)[:, None]
    y = normal * gamma[:, None] + beta[:, None]
    dz = dy * (y > 0) if relu else dy
    dgamma, dbeta = (dz * normal).sum(axes), dz.sum(axes)
    share = (dbeta[:, None] + normal * dgamma[:, None]) / (x.shape[0] * x.shape[2])
    return [np.maximum(y, 0) if relu else y, scale * (dz - share), dgamma, dbeta]


# rows that fill several pieces of work, few rows, a result larger than the caches
LAST = [(3, 20, 1517), (2, 512, 351), (1, 16, 5), (1, 33, 3), (2, 16, 265_225)]


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("shape", LAST, ids=str)
def test_channels_last(shape, relu):
    rng = np.random.RandomState(4)
    x, dy = rng.standard_normal((2, *shape)).astype("float32")
    x += rng.uniform(-2, 2, (shape[1], 1)).astype("float32")
    gamma, beta = rng.uniform(-2, 2, (2, shape[1])).astype("float32")
    aux = [np.zeros_like(beta), np.ones_like(beta)]
    run = Ready("BatchNorm", [turned(x), gamma, beta], {"fix_gamma": False, "eps": 1e-3}, aux)
    run.channels_last()
    run.switch(relu=relu)
    wide = [a.astype("float64") for a in (x, gamma, beta, dy)]
    dy[np.abs(folded(*wide, False)[0]) < 1e-4] = 0  # where relu's mask is a matter of rounding
    wide[-1] = dy.astype("float64")
    out = run.forward()
    found = [out[0], *run.backward([turned(dy)], out)]
    for i, (got, want) in enumerate(zip(found, folded(*wide, relu), strict=True)):
        got = turned_back(got) if want.ndim == 3 else got
        np.testing.assert_allclose(
            got, want, rtol=1e-4, atol=2e-5 * np.abs(want).max(), err_msg=f"array {i}"
        )
