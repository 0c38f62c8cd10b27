"""Transposition in memory against NumPy's, by level; every bit arrives, those of NaN too."""

import itertools

import numpy as np
import pytest
from cynet.kernels.movement.transpose import _transpose_arrays

import cynet as mx
from cynet.kernels.isa.dispatch import cpu_capabilities

SIZES = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 20, 35, 49, 64, 67]


def bits(rng, shape):
    """float32 of any bits: infinities, NaN of both kinds, negative zeros, subnormal numbers."""
    drawn = rng.randint(-(2**31), 2**31, shape, dtype=np.int64).astype(np.int32)
    drawn[rng.rand(*shape) < 0.1] = -(2**31)  # -0.0
    return drawn


@pytest.mark.parametrize("level", cpu_capabilities())
def test_every_size(level):
    rng = np.random.RandomState(3)
    for batch, rows, columns in itertools.product((1, 3), SIZES, SIZES):
        x = bits(rng, (batch, rows, columns))
        room = np.full(x.size + 32, 7, np.int32)
        y = room[16:-16].reshape(batch, columns, rows)
        _transpose_arrays(x.view(np.float32), y.view(np.float32), threads=2, level=level)
        np.testing.assert_array_equal(y, x.transpose(0, 2, 1))
        assert (room[:16] == 7).all() and (room[-16:] == 7).all()


@pytest.mark.parametrize("level", cpu_capabilities())
def test_added_to_what_is_there(level):
    rng = np.random.RandomState(4)
    for batch, rows, columns in itertools.product((1, 3), SIZES, SIZES):
        x = rng.randn(batch, rows, columns).astype(np.float32)
        y = rng.randn(batch, columns, rows).astype(np.float32)
        wanted = y + x.transpose(0, 2, 1)
        _transpose_arrays(x, y, add=True, threads=2, level=level)
        np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize("level", cpu_capabilities())
@pytest.mark.parametrize("shape", [(1, 3, 5000), (2, 5000, 3), (1, 2050, 130), (1, 9, 4100)])
def test_shared_out(shape, level):
    x = bits(np.random.RandomState(5), shape)
    for threads in 1, 2, 5:
        y = np.full((shape[0], shape[2], shape[1]), 7, np.int32)
        _transpose_arrays(x.view(np.float32), y.view(np.float32), threads=threads, level=level)
        np.testing.assert_array_equal(y, x.transpose(0, 2, 1))


AXES = [(1, 0), (0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1), (0, 2, 3, 1), (3, 1, 0, 2)]


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64", "uint8"])
@pytest.mark.parametrize("axes", AXES, ids=str)
def test_transpose_and_arrays_of_any_strides(axes, dtype):
    """By the operator, its gradient added, and by copies of what NumPy only views."""
    rng = np.random.RandomState(6)
    for shape in [(3, 18, 5, 21), (20, 3, 33, 4), (6, 5, 7, 1)]:
        x = rng.randint(0, 200, shape[: len(axes)]).astype(dtype)
        turned = mx.nd.transpose(mx.nd.array(x, dtype=dtype), axes=axes)
        np.testing.assert_array_equal(turned.asnumpy(), x.transpose(axes))
        copied = mx.nd.array(x.transpose(axes), dtype=dtype)
        np.testing.assert_array_equal(copied.asnumpy(), x.transpose(axes))
        backwards = mx.nd.array(x[..., ::-1].transpose(axes)[::-1], dtype=dtype)
        np.testing.assert_array_equal(backwards.asnumpy(), x[..., ::-1].transpose(axes)[::-1])
        if dtype.startswith("float"):
            executor = mx.sym.transpose(mx.sym.var("x", dtype=dtype), axes=axes).simple_bind(
                mx.cpu(), grad_req="add", x=x.shape, type_dict={"x": dtype}
            )
            executor.grad_dict["x"][:] = x
            executor.forward(is_train=True)
            head = rng.randint(0, 200, turned.shape).astype(dtype)
            executor.backward(mx.nd.array(head, dtype=dtype))
            wanted = x + head.transpose(np.argsort(axes))
            np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), wanted)


def test_a_row_that_repeats_is_transposed():
    """A view that NumPy makes of one line, and one whose lines overlap."""
    line = np.arange(20, dtype=np.float32)
    for view in (
        np.broadcast_to(line, (9, 20)).T,
        np.broadcast_to(line[:, None], (20, 9)).T,
        np.lib.stride_tricks.as_strided(line, (6, 9), (4, 4)),
        np.lib.stride_tricks.as_strided(line, (5, 6, 4), (4, 8, 4)),
    ):
        np.testing.assert_array_equal(mx.nd.array(view).asnumpy(), view)
