"""LayerNorm's gradients against the formula in float64, for lines of every kind of end."""

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.parallel import set_num_threads

LENGTHS = [1, 2, 7, 15, 16, 17, 31, 63, 64, 65, 127, 130, 255, 256, 257, 300, 1025]


def reference(x, gamma, dy, axis=-1, eps=1e-5):
    """(y, dx, dgamma, dbeta) in float64."""
    x, gamma, dy = (np.asarray(a, "d") for a in (x, gamma, dy))
    x, dy = np.moveaxis(x, axis, -1), np.moveaxis(dy, axis, -1)
    std = np.sqrt(x.var(-1, keepdims=True) + eps)
    unit = (x - x.mean(-1, keepdims=True)) / std
    g = dy * gamma
    dx = (g - g.mean(-1, keepdims=True) - unit * (g * unit).mean(-1, keepdims=True)) / std
    lines = tuple(range(x.ndim - 1))
    found = unit * gamma, dx
    return *(np.moveaxis(a, -1, axis) for a in found), (dy * unit).sum(lines), dy.sum(lines)


def bound(x, gamma, dtype, req, before, **options):
    """An executor with these values, and what gradients are added to."""
    net = mx.sym.LayerNorm(mx.sym.var("x"), mx.sym.var("gamma"), mx.sym.var("beta"), **options)
    net = net * mx.sym.var("factor")  # so that data's gradient may be made in place
    shapes = {"x": x.shape, "factor": x.shape}
    reqs = {"x": req, "gamma": req, "beta": req, "factor": "null"}
    types = dict.fromkeys(["x", "gamma", "beta", "factor"], dtype)
    executor = net.simple_bind(mx.cpu(), grad_req=reqs, type_dict=types, **shapes)
    executor.arg_dict["x"][:] = mx.nd.array(x, dtype=dtype)
    executor.arg_dict["gamma"][:] = mx.nd.array(gamma, dtype=dtype)
    executor.arg_dict["beta"][:] = 0
    executor.arg_dict["factor"][:] = 1
    for key in ("x", "gamma", "beta"):
        executor.grad_dict[key][:] = before
    return executor


def run(executor, dy, dtype):
    y = executor.forward(is_train=True)[0].asnumpy()
    executor.backward(mx.nd.array(dy, dtype=dtype))
    return y, *(executor.grad_dict[key].asnumpy() for key in ("x", "gamma", "beta"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", LENGTHS)
def test_gradients(rng, n, dtype):
    for lines, req in ((1, "write"), (3, "add"), (64, "write"), (65, "add"), (200, "write")):
        x, dy = rng.standard_normal((2, lines, n)) * 2 + 0.5
        if n == 2:  # numbers so near to each other would leave nothing but their rounding
            x[:, 1] = x[:, 0] + rng.uniform(1, 3, lines)
        gamma = rng.uniform(0.5, 1.5, n)
        x, dy, gamma = (a.astype(dtype) for a in (x, dy, gamma))
        before = 3 if req == "add" else 7
        found = run(bound(x, gamma, dtype, req, before), dy, dtype)
        wanted = reference(x, gamma, dy)
        near = (1e-11 if dtype == "float64" else 4e-6) * (10 if n < 3 else 1)
        # of one number there is left what rounding leaves of 0, times 1 / sqrt(eps)
        for name, got, want in zip(("y", "dx", "dgamma", "dbeta"), found, wanted):
            if req == "add" and name != "y":
                want = want + before
            size = np.abs(want).max() + (lines if name == "dgamma" else 1)
            assert np.abs(got - want).max() <= near * size, (name, lines, req)


@pytest.mark.parametrize("axis, shape", [(1, (5, 33, 7)), (0, (40, 6)), (-2, (3, 70, 4))])
def test_gradients_along_another_axis(rng, axis, shape):
    x, dy = rng.standard_normal((2, *shape)).astype("f")
    gamma = rng.uniform(0.5, 1.5, shape[axis]).astype("f")
    found = run(bound(x, gamma, "float32", "write", 0, axis=axis), dy, "float32")
    gamma = gamma.astype("d")
    for got, want in zip(found, reference(x, gamma, dy, axis)):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("lines, n", [(700, 40), (900, 128), (300, 513), (2000, 64)])
def test_threads_change_no_bit(rng, lines, n):
    x, dy = rng.standard_normal((2, lines, n)).astype("f")
    gamma = rng.uniform(0.5, 1.5, n).astype("f")
    executor, found = bound(x, gamma, "float32", "write", 0), []
    before = set_num_threads(1)
    try:
        for threads in (1, 2, 3, 7):
            set_num_threads(threads, beyond_cores=True)
            found.append(run(executor, dy, "float32"))
    finally:
        set_num_threads(before, beyond_cores=True)
    for other in found[1:]:
        for got, want in zip(other, found[0]):
            assert got.tobytes() == want.tobytes()


def test_a_line_that_is_no_number_stays_alone(rng):
    """An infinite or missing number spoils its line, and the sums over lines, and no other line."""
    x, dy = rng.standard_normal((2, 6, 100)).astype("f")
    x[2, 99], x[4, 0] = np.inf, np.nan
    found = run(bound(x, np.ones(100, "f"), "float32", "write", 0), dy, "float32")
    spoilt = np.isnan(found[1]).any(1)
    assert list(np.flatnonzero(spoilt)) == [2, 4]
    good = ~spoilt
    wanted = reference(x[good], np.ones(100), dy[good])
    np.testing.assert_allclose(found[1][good], wanted[1], rtol=1e-4, atol=2e-5)
