"""Unary functions: precision of the float32 polynomials, special values, large arrays, dtypes."""

import numpy as np
import pytest

from cynet.base.errors import ArgumentError, CynetError
from tests.operator.direct import call, gradients

SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 1e-38, -1e-40], "float32")


def ulps(found, exact):
    """Distance in units of the last place of the exact float32 value."""
    exact32 = exact.astype("float32")
    return np.abs(found.astype("float64") - exact) / np.spacing(np.abs(exact32)).astype("float64")


@pytest.mark.parametrize(
    ("op", "low", "high", "limit"),
    [
        ("exp", -87.0, 88.7, 2.0),
        ("tanh", -9.0, 9.0, 2.4),
        ("tanh", -0.7, 0.7, 2.4),
        ("log", 1e-3, 4.0, 2.0),
    ],
)
def test_float32_is_within_a_few_ulps(op, low, high, limit, rng):
    x = rng.uniform(low, high, 200_000).astype("float32")
    assert ulps(call(op, x), getattr(np, op)(x.astype("float64"))).max() <= limit


def test_log_over_all_magnitudes(rng):
    x = np.exp(rng.uniform(-100, 88, 200_000)).astype("float32")
    x = x[x > 0]
    assert ulps(call("log", x), np.log(x.astype("float64"))).max() <= 2.0


def test_exp_overflows_and_underflows_as_it_should():
    x = np.array([88.8, 1000, -103.9, -200, -90], "float32")
    found = call("exp", x)
    assert found[0] == found[1] == np.inf and found[3] == 0
    wanted = np.exp(x[[2, 4]].astype("float64")).astype("float32")  # subnormal
    np.testing.assert_allclose(found[[2, 4]], wanted, rtol=1e-5)


@pytest.mark.parametrize("op", ["exp", "log", "tanh", "sigmoid", "sqrt", "abs"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_special_values(op, dtype):
    x = SPECIAL.astype(dtype)
    with np.errstate(all="ignore"):
        functions = {"sigmoid": lambda v: 1 / (1 + np.exp(-v))}
        wanted = functions.get(op, getattr(np, op, None))(x.astype("float64")).astype(dtype)
    found = call(op, x)
    np.testing.assert_allclose(found, wanted, rtol=2e-3 if dtype == "float16" else 1e-6, atol=1e-44)


@pytest.mark.parametrize("n", [1, 7, 1023, 1025, 100_003])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_sizes_around_chunks_and_threads(n, dtype, rng):
    x = rng.integers(0, 5, n).astype(dtype)
    np.testing.assert_allclose(
        call("sqrt", x), np.sqrt(x.astype("float32")).astype(dtype), rtol=1e-3
    )
    np.testing.assert_array_equal(call("square", x), x * x)
    np.testing.assert_array_equal(gradients("square", [x], x)[0], 2 * x * x)


def test_gradient_at_zero_is_finite_where_it_should_be():
    zero = np.zeros(2)
    np.testing.assert_array_equal(gradients("abs", [np.ones(2)], zero)[0], 0)
    np.testing.assert_array_equal(gradients("relu", [np.ones(2)], zero)[0], 0)


def test_bool_is_refused_by_name():
    with pytest.raises(ArgumentError, match=r"operator exp .*bool"):
        call("exp", np.array([True]))


@pytest.mark.parametrize("op", ["argmax", "argmax_channel", "hard_sigmoid", "clip"])
def test_what_has_no_loop_for_bool_names_itself(op):
    params = {"a_min": 0, "a_max": 1} if op == "clip" else {}
    with pytest.raises(CynetError, match=rf"operator {op} .*bool"):
        call(op, np.array([[True]]), **params)


def test_hard_sigmoid_of_integers_is_refused():
    with pytest.raises(CynetError, match=r"operator hard_sigmoid .* is int32"):
        call("hard_sigmoid", np.array([1], "int32"))
