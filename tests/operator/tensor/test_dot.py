"""dot and batch_dot around the sizes at which BLAS is left, against NumPy in float64."""

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.parallel import set_num_threads
from tests.pairs import pairwise

# (m, k, n): few rows, few columns, short and long sums, ends that fill no vector, no sum at all
SIZES = [
    (15, 40, 33),
    (16, 40, 33),
    (17, 3, 16),
    (40, 40, 15),
    (65, 129, 70),
    (101, 99, 105),
    (130, 128, 127),
    (20, 2000, 33),
    (1, 300, 50),
    (300, 50, 1),
    (1024, 20, 64),
    (200, 1, 300),
]
STACKS = [
    ((7,), (33, 20, 64)),
    ((2, 3), (110, 100, 100)),
    ((1,), (130, 128, 128)),
    ((64,), (16, 5, 17)),
    ((3,), (12, 64, 9)),
]
FLAGS = [(False, False), (False, True), (True, False), (True, True)]


def operands(rng, size, flags, batch=()):
    """lhs and rhs as they lie, and their product in float64."""
    m, k, n = size
    a, b = rng.standard_normal((*batch, m, k)), rng.standard_normal((*batch, k, n))
    a, b = a.astype("f").astype("d"), b.astype("f").astype("d")
    lie = [x.swapaxes(-1, -2).copy() if flag else x for x, flag in zip((a, b), flags)]
    return (*lie, a @ b)


def near(got, want, length):
    """Within what rounding makes of sums of so many products of numbers around 1."""
    np.testing.assert_allclose(got, want, rtol=0, atol=3e-6 * max(length, 4) ** 0.5 * 3)


def check(rng, operator, size, flags, batch, req):
    """The product, and gradients from a random one of the result."""
    a, b, want = operands(rng, size, flags, batch)
    names = dict(zip(("transpose_a", "transpose_b"), flags))
    net = getattr(mx.sym, operator)(mx.sym.var("a"), mx.sym.var("b"), **names)
    executor = net.simple_bind(mx.cpu(), grad_req=req, a=a.shape, b=b.shape)
    executor.arg_dict["a"][:], executor.arg_dict["b"][:] = a, b
    for grad in executor.grad_arrays:
        grad[:] = 2
    near(executor.forward(is_train=True)[0].asnumpy(), want, size[1])
    g = rng.standard_normal(want.shape).astype("f").astype("d")
    executor.backward(mx.nd.array(g))
    plain_a, plain_b = (x.swapaxes(-1, -2) if flag else x for x, flag in zip((a, b), flags))
    grads = g @ plain_b.swapaxes(-1, -2), plain_a.swapaxes(-1, -2) @ g
    for name, grad, flag, length in zip("ab", grads, flags, (size[2], size[0])):
        grad = (grad.swapaxes(-1, -2) if flag else grad) + (2 if req == "add" else 0)
        near(executor.grad_dict[name].asnumpy(), grad, length)


@pytest.mark.parametrize("size, flags, req", pairwise(SIZES, FLAGS, ["write", "add"]), ids=str)
def test_a_product_and_its_gradients(rng, size, flags, req):
    check(rng, "dot", size, flags, (), req)


@pytest.mark.parametrize("stack, flags, req", pairwise(STACKS, FLAGS, ["write", "add"]), ids=str)
def test_a_stack_of_products_and_its_gradients(rng, stack, flags, req):
    batch, size = stack
    check(rng, "batch_dot", size, flags, batch, req)


@pytest.mark.parametrize("batch, size", STACKS)
def test_threads_change_no_bit_of_a_stack(rng, batch, size):
    a, b, _ = operands(rng, size, (False, True), batch)
    lhs, rhs = mx.nd.array(a), mx.nd.array(b)
    before, found = set_num_threads(1), []
    try:
        for threads in (1, 2, 5):
            set_num_threads(threads, beyond_cores=True)
            found.append(mx.nd.batch_dot(lhs, rhs, transpose_b=True).asnumpy().tobytes())
    finally:
        set_num_threads(before, beyond_cores=True)
    assert found[1:] == found[:1] * 2


@pytest.mark.parametrize("size", [(64, 70, 40), (130, 128, 130)])
def test_zeros_times_what_is_not_finite(rng, size):
    """Zeros of the left operand may be left out, but not against infinities and NaN."""
    m, k, n = size
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    a[:, 3:], b[5, 7], b[9, 2] = 0, np.inf, np.nan
    got = mx.nd.dot(mx.nd.array(a), mx.nd.array(b.T), transpose_b=True).asnumpy()
    assert np.isnan(got[:, [2, 7]]).all()
    rest = np.delete(np.arange(n), [2, 7])
    near(got[:, rest], (a.astype("f") @ b.astype("f")[:, rest]), k)
