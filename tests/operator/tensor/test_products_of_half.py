"""dot and batch_dot of float16: products are summed in float32, and rounded once."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, nd

FLAGS = [(False, False), (True, False), (False, True), (True, True)]


def operands(rng, name, a, b):
    lead = (3,) if name == "batch_dot" else ()
    left = rng.uniform(-1, 1, lead + ((5, 4) if a else (4, 5)))
    right = rng.uniform(-1, 1, lead + ((6, 5) if b else (5, 6)))
    return left.astype("float16"), right.astype("float16")


def turned(x, flag):
    return np.swapaxes(x, -1, -2) if flag else x


@pytest.mark.parametrize("a, b", FLAGS)
@pytest.mark.parametrize("name", ["dot", "batch_dot"])
@pytest.mark.parametrize("req", ["write", "add"])
def test_values_and_gradients(name, a, b, req, rng):
    left, right = operands(rng, name, a, b)
    arrays = [nd.array(each, dtype="float16") for each in (left, right)]
    for each in arrays:
        each.attach_grad(req)
        each.grad[:] = 1
    with autograd.record():
        y = getattr(nd, name)(*arrays, transpose_a=a, transpose_b=b)
    head = rng.uniform(-1, 1, y.shape).astype("float16")
    y.backward(nd.array(head, dtype="float16"))
    x, z, g = (each.astype("float64") for each in (turned(left, a), turned(right, b), head))
    start = 1 if req == "add" else 0
    of_left = turned(g @ np.swapaxes(z, -1, -2), a) + start
    of_right = turned(np.swapaxes(x, -1, -2) @ g, b) + start
    found = [y, *(each.grad for each in arrays)]
    for each, wanted in zip(found, [x @ z, of_left, of_right]):
        assert each.dtype == np.float16
        np.testing.assert_allclose(each.asnumpy(), wanted, rtol=6e-4, atol=1e-5)  # one rounding


def test_sums_are_float32():
    """4,096 products of 1: float16 would stop at 2,048."""
    ones = nd.ones((1, 4096), dtype="float16")
    assert nd.dot(ones, ones, transpose_b=True).asscalar() == 4096
    stack = ones.reshape((1, 1, 4096))
    assert nd.batch_dot(stack, stack, transpose_b=True).asnumpy().tolist() == [[[4096]]]
    assert nd.dot(ones[0], ones[0]).asscalar() == 4096


def test_in_a_graph_and_of_second_order(rng):
    left, right = operands(rng, "dot", False, False)
    net = mx.sym.dot(mx.sym.var("a"), mx.sym.var("b"))
    args = {"a": nd.array(left, dtype="float16"), "b": nd.array(right, dtype="float16")}
    (out,) = net.bind(mx.cpu(), args).forward()
    wanted = left.astype("float64") @ right.astype("float64")
    np.testing.assert_allclose(out.asnumpy(), wanted, rtol=6e-4, atol=1e-5)
    args["a"].attach_grad()
    with autograd.record():
        y = nd.dot(args["a"], args["b"])
        (first,) = autograd.grad(y, [args["a"]], create_graph=True)
        (first * first).sum().backward()
    assert first.dtype == np.float16 and args["a"].grad.asnumpy().tolist() == (0 * left).tolist()


def test_beside_another_dtype():
    with pytest.raises(mx.MXNetError, match="dot"):
        nd.dot(nd.ones((2, 2), dtype="float16"), nd.ones((2, 2)))
