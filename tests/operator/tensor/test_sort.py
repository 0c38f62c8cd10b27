"""sort, argsort and topk against NumPy's stable sort, at lengths where their ways change."""

import numpy as np
import pytest

import cynet as mx

TYPES = ("float32", "float16", "int32", "int8", "uint8", "float64", "int64")


def numbers(draw, shape, dtype):
    """Many equal ones; zeros of both signs, infinities and NaN among floats."""
    if "int" in dtype:
        return draw.randint(0 if dtype == "uint8" else -100, 100, shape).astype(dtype)
    x = (draw.standard_normal(shape) * 4).astype(dtype)
    for value in (np.nan, 0.0, -0.0, np.inf, -np.inf):
        x[draw.uniform(size=shape) < 0.08] = value
    return x


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 5, 63, 64, 65, 191, 192, 1000, 3000])
def test_order(n, dtype, seed):
    x = numbers(np.random.RandomState(seed), (2, n, 2), dtype)
    a = mx.nd.array(x, dtype=dtype)
    for ascending in (True, False):
        keys = x.astype(np.float64) * (1 if ascending else -1)
        order = np.argsort(keys, axis=1, kind="stable")
        got = mx.nd.argsort(a, axis=1, is_ascend=ascending, dtype="int32")
        np.testing.assert_array_equal(got.asnumpy(), order)
        values = mx.nd.sort(a, axis=1, is_ascend=ascending).asnumpy()
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
        for k in {1, min(2, n), min(33, n), n // 2 or 1}:
            top = mx.nd.topk(a, axis=1, k=k, is_ascend=ascending, dtype="int32").asnumpy()
            np.testing.assert_array_equal(top, order[:, :k], err_msg=f"k {k}")


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [1, 2, 255, 256, 2047, 2048, 5000])
def test_values_of_contiguous_rows(n, dtype, seed):
    """By keys alone where positions tell no two values apart: zeros keep their signs."""
    draw = np.random.RandomState(seed)
    rows = numbers(draw, (4, n), dtype)
    if "int" in dtype:
        lowest, highest = np.iinfo(dtype).min, np.iinfo(dtype).max
        rows[0] = draw.randint(lowest, highest, n, dtype=dtype)
        rows[0, :1], rows[0, -1:] = highest, lowest
    else:
        rows[0] = draw.standard_normal(n) * 100
        rows[1] = rows[0]
        rows[1, ::3], rows[1, 1::3] = 0.0, -0.0
        rows[0, -1] = -np.inf
    for x in (rows, rows[:2], rows[0]):
        a = mx.nd.array(x, dtype=dtype)
        for ascending in (True, False):
            keys = x.astype(np.longdouble) * (1 if ascending else -1)
            expected = np.take_along_axis(x, np.argsort(keys, axis=-1, kind="stable"), -1)
            got = mx.nd.sort(a, axis=-1, is_ascend=ascending).asnumpy()
            np.testing.assert_array_equal(got, expected)
            if "float" in dtype:
                said = ~np.isnan(expected)
                assert (np.signbit(got) == np.signbit(expected))[said].all()


def test_whole_range_of_floats_and_integers():
    bits = np.random.RandomState(0).randint(0, 1 << 32, 5000, dtype=np.uint64).astype(np.uint32)
    for x in (bits.view(np.float32), bits.view(np.int32)):
        got = mx.nd.sort(mx.nd.array(x, dtype=x.dtype), axis=0).asnumpy()
        np.testing.assert_array_equal(got, np.sort(x))


@pytest.mark.parametrize("dtype", TYPES)
def test_arg_of_rows_and_columns(dtype, seed):
    draw = np.random.RandomState(seed)
    kind = dtype if dtype in ("float32", "float64", "int32", "int64") else "float32"
    for shape in ((1, 7), (5, 1), (40, 3), (9, 100), (3, 50, 70), (200, 1100), (2, 3, 2000)):
        x = numbers(draw, shape, dtype)
        a = mx.nd.array(x, dtype=dtype)
        for axis in range(len(shape)):
            got = mx.nd.argmax(a, axis=axis).asnumpy()
            np.testing.assert_array_equal(got, x.argmax(axis).astype(kind), err_msg=f"{shape}")
            got = mx.nd.argmin(a, axis=axis).asnumpy()
            np.testing.assert_array_equal(got, x.argmin(axis).astype(kind), err_msg=f"{shape}")
