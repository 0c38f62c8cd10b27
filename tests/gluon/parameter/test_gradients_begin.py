"""Gradients begin as zeros that take no memory before they are written."""

import os
import resource

import numpy as np
import pytest

import cynet as mx
from cynet import autograd, gluon, nd

SIZES = [1, 16383, 16384, 16385, 40000, (1 << 21) + 13]


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("size", SIZES)
def test_they_are_zeros_where_other_arrays_were(size, dtype):
    """Also at both ends of the pages; beside them nothing changes."""
    for _ in range(2):
        used = [nd.full((size,), 7, dtype=dtype) for _ in range(3)]
        neighbour = used[0]
        nd.waitall()
        del used[1:]
        param = gluon.Parameter("w", shape=(size,), init="ones", dtype=dtype)
        param.initialize()
        assert not param.grad().asnumpy().any()
        assert (param.data().asnumpy() == 1).all() and (neighbour.asnumpy() == 7).all()
        with autograd.record():
            out = (param.data() * 3).sum()
        out.backward()
        assert (param.grad().asnumpy() == 3).all()


def test_they_add_from_the_first_time_on():
    param = gluon.Parameter("w", shape=(300, 400), init="ones", grad_req="add")
    param.initialize()
    for _ in range(2):
        with autograd.record():
            out = (param.data() * 2).sum()
        out.backward()
    np.testing.assert_array_equal(param.grad().asnumpy(), np.full((300, 400), 4.0))
    param.cast("float64")
    assert param.grad().dtype == np.float64 and not param.grad().asnumpy().any()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads Linux's /proc")
@pytest.mark.parametrize("shape", [(16, 1 << 20), (300, 64, 1024)], ids=["one", "many"])
def test_prediction_makes_no_gradient_resident(shape):
    """Of 64 MB of weights in one array, and of 79 MB in 300."""
    nd.waitall()
    mx.storage.empty_cache(mx.cpu())
    count = shape[0] if len(shape) == 3 else 1
    size = shape[1:] if len(shape) == 3 else shape
    nbytes = 4 * int(np.prod(shape))
    before = resident()
    params = gluon.ParameterDict()
    for i in range(count):
        params.get(f"w{i}", shape=size, init="ones")
    params.initialize()
    nd.waitall()
    total = sum(param.data()[0, 0].asscalar() for param in params.values())
    assert total == count
    mx.storage.empty_cache(mx.cpu())
    assert resident() - before < 1.3 * nbytes
    grads = [param.grad() for param in params.values()]
    for each in grads:
        each += 1
    nd.waitall()
    assert resident() - before > 1.9 * nbytes
