"""Reductions: accuracy of long sums, axis sets of random shapes, bad axes."""

import itertools

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError
from tests.operator.direct import call


def test_sum_of_ten_million_floats(rng):
    x = rng.uniform(0, 1, 10_000_000).astype("float32")
    exact = x.astype("float64").sum()
    assert abs(float(call("sum", x)[0]) - exact) <= np.spacing(np.float32(exact))
    assert abs(float(call("mean", x)[0]) - exact / x.size) <= np.spacing(np.float32(0.5))


@pytest.mark.parametrize("n", [2**19, 2**20 - 1, 2**20 + 61, 1_500_011])
def test_long_rows_are_read_as_several(n, rng):
    """Each element counts once, wherever a row is cut, also where it is infinite or NaN."""
    values = rng.integers(-8, 9, (3, n)).astype("float32")  # sums of which are exact
    array = mx.nd.array(values)
    np.testing.assert_array_equal(mx.nd.sum(array, axis=1).asnumpy(), values.sum(1, np.float64))
    for place in (0, n // 4 - 1, n // 4, n // 2, 3 * n // 4 + 1, n - 62, n - 1):
        for value in (100, np.inf, np.nan):
            values[1, place] = value
            row = mx.nd.array(values[1])
            for name in ("sum", "max"):
                got, want = getattr(mx.nd, name)(row).asnumpy(), getattr(values[1], name)()
                np.testing.assert_array_equal(got, [want], f"{name} with {value} at {place}")
            values[1, place] = -100
            assert mx.nd.min(mx.nd.array(values[1])).asscalar() == -100
            values[1, place] = 3


def test_sum_down_long_columns(rng):
    x = rng.uniform(0, 1, (1_000_000, 3)).astype("float32")
    exact = x.astype("float64").sum(0)
    np.testing.assert_allclose(call("sum", x, axis=0), exact, rtol=1e-7)
    np.testing.assert_allclose(call("sum", x.T.copy(), axis=1), exact, rtol=1e-7)


def test_every_set_of_axes(rng):
    x = rng.uniform(-1, 1, (3, 1, 4, 2, 5))
    for n in range(1, 6):
        for axes in itertools.combinations(range(5), n):
            for keep in (False, True):
                wanted = x.sum(axes, keepdims=keep)
                found = call("sum", x, axis=axes, keepdims=keep)
                np.testing.assert_allclose(
                    found, wanted.reshape(wanted.shape or (1,)), rtol=1e-12, atol=1e-13
                )
                np.testing.assert_array_equal(
                    call("max", x, axis=axes, keepdims=keep),
                    x.max(axes, keepdims=keep).reshape(found.shape),
                )


@pytest.mark.parametrize("shape", [(400, 300), (2, 70_000), (70_000, 2), (40, 50, 60)])
@pytest.mark.parametrize("axis", [0, 1])
def test_large_arrays_in_parallel(shape, axis, rng):
    x = rng.integers(-5, 6, shape).astype("float32")
    np.testing.assert_array_equal(call("sum", x, axis=axis), x.astype("float64").sum(axis))
    np.testing.assert_array_equal(call("min", x, axis=axis), x.min(axis))
    np.testing.assert_array_equal(call("argmax", x, axis=axis), x.argmax(axis))


def test_integers_stay_exact():
    x = np.full(1000, 2**55 + 1, "int64")
    assert call("sum", x)[0] == x.sum()


def test_integer_mean_truncates_the_quotient():
    for n in (3, 10, 49):
        assert call("mean", np.full(n, 7, "int32")).tolist() == [7]
    assert call("mean", np.array([1, 4], "int32")).tolist() == [2]


def test_bad_axes():
    for axis in (2, -3, (0, 0), (0, -2)):
        with pytest.raises(ArgumentError, match=r"ax"):
            call("sum", np.ones((2, 3)), axis=axis)
    with pytest.raises(ArgumentError, match=r"'ord'.*3"):
        call("norm", np.ones(3), ord=3)
