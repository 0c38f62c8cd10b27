"""FullyConnected with an activation folded in: gradients of bias, weight and data, by NumPy."""

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.parallel import set_num_threads
from tests.rounding import assert_summed_alike

SLOPES = {
    "relu": lambda y: (y > 0).astype(y.dtype),
    "tanh": lambda y: 1 - y * y,
    "sigmoid": lambda y: y * (1 - y),
}


def _gradients(rows, units, hidden, act, requests, seed, again=1, eighths=False):
    """Gradients that an executor computes, and NumPy's in float64; both start from ones.

    `eighths`: data and weights are such, so that products are exact in any order."""
    rng = np.random.RandomState(seed)
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=hidden, name="fc")
    net = mx.sym.Activation(net, act_type=act)
    exe = net.simple_bind(mx.cpu(), data=(rows, units), grad_req=requests)
    given = {n: rng.uniform(-1, 1, a.shape).astype("f") for n, a in exe.arg_dict.items()}
    if eighths:
        given = {n: np.round(8 * value) / 8 for n, value in given.items()}
    for name, value in given.items():
        exe.arg_dict[name][:] = value
        exe.grad_dict[name][:] = 1
    out = exe.forward(True)[0].asnumpy()
    head = rng.uniform(-1, 1, out.shape).astype("f")
    for _ in range(again):
        exe.backward(mx.nd.array(head))
    x, w = given["data"].astype("d"), given["fc_weight"].astype("d")
    inner = head * SLOPES[act](out.astype("d"))
    wanted = {"data": inner @ w, "fc_weight": inner.T @ x, "fc_bias": inner.sum(0)}
    found = {n: g.asnumpy() for n, g in exe.grad_dict.items()}
    return found, wanted


@pytest.mark.parametrize("act", SLOPES)
@pytest.mark.parametrize(
    ("rows", "hidden"), [(1, 1), (15, 10), (16, 63), (17, 64), (128, 128), (33, 65), (200, 193)]
)
def test_gradients_of_a_folded_activation(rows, hidden, act):
    found, wanted = _gradients(rows, 20, hidden, act, "write", seed=rows)
    for name, value in wanted.items():
        assert_summed_alike(found[name], value, rows + hidden, rows + hidden, name)


def test_gradients_are_added():
    found, wanted = _gradients(40, 20, 130, "relu", "add", seed=3, again=2)
    for name, value in wanted.items():
        assert_summed_alike(found[name], 1 + 2 * value, 300, 1 + np.abs(2 * value).max(), name)


def test_no_number_of_threads_changes_the_gradient_of_a_bias():
    found = []
    for threads in (1, 2, 3):
        before = set_num_threads(threads, beyond_cores=True)
        try:
            gradients, _ = _gradients(300, 8, 300, "tanh", "write", seed=5, eighths=True)
            found.append(gradients["fc_bias"])
        finally:
            set_num_threads(before)
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])
