"""SyncBatchNorm shows the mean and the variance, where BatchNorm shows 1 / sqrt(var + eps)."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, nd


def call(name, x, training, **params):
    start = [np.array(each, x.dtype) for each in ([1, 2, 3], [0, 1, -1], [0.5, 1, 2], [2, 3, 4])]
    arrays = [nd.array(each, dtype=each.dtype) for each in start]
    data = nd.array(x, dtype=x.dtype)
    for each in (data, *arrays[:2]):
        each.attach_grad()
    function = nd.BatchNorm if name == "BatchNorm" else nd.contrib.SyncBatchNorm
    more = {} if name == "BatchNorm" else {"key": "k"}
    with autograd.record(train_mode=training):
        outs = function(data, *arrays, fix_gamma=False, output_mean_var=True, **params, **more)
        (outs[0] * nd.arange(x.size).reshape(x.shape).astype(x.dtype)).backward()
    return outs, [each.grad.asnumpy() for each in (data, *arrays[:2])], arrays[2:], start[2:]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(4, 3), (2, 3, 2, 2)])
def test_variance(shape, training, dtype, rng):
    x = rng.normal(1, 2, shape).astype(dtype)
    axes = tuple(i for i in range(len(shape)) if i != 1)
    (y, mean, var), grads, moved, start = call("SyncBatchNorm", x, training)
    wanted = (x.mean(axes), x.var(axes)) if training else start
    near = 1e-5 if dtype == "float32" else 1e-9
    np.testing.assert_allclose(mean.asnumpy(), wanted[0], rtol=near, atol=near)
    np.testing.assert_allclose(var.asnumpy(), wanted[1], rtol=near * 10)
    (same, _, inverse), others, moved_too, _ = call("BatchNorm", x, training)
    np.testing.assert_allclose(inverse.asnumpy(), 1 / np.sqrt(wanted[1] + 1e-3), rtol=near * 10)
    np.testing.assert_array_equal(y.asnumpy(), same.asnumpy())
    for found, other in zip(grads, others):
        np.testing.assert_allclose(found, other, rtol=near * 100, atol=near * 100)
    for found, other in zip(moved, moved_too):
        np.testing.assert_allclose(found.asnumpy(), other.asnumpy(), rtol=near * 10)


def test_added_and_in_a_graph(rng):
    x = rng.normal(size=(2, 3, 4, 4)).astype("float32")
    net = mx.sym.contrib.SyncBatchNorm(mx.sym.var("data"), key="k", output_mean_var=True)
    executor = net.simple_bind(mx.cpu(), data=x.shape)
    outs = executor.forward(is_train=True, data=nd.array(x))
    np.testing.assert_allclose(outs[2].asnumpy(), x.var((0, 2, 3)), rtol=1e-4)
    assert len(outs) == 3 and np.allclose(outs[1].asnumpy(), x.mean((0, 2, 3)), atol=1e-6)
