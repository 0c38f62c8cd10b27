"""Binary functions: integer division, broadcasting of many shapes, large arrays, bad shapes."""

import numpy as np
import pytest

from cynet.base.errors import ArgumentError, ShapeError
from cynet.kernels.parallel import set_num_threads
from tests.operator.direct import call, gradients


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("op", ["elemwise_div", "_mod", "broadcast_div", "broadcast_mod"])
def test_integer_division_never_traps(op, dtype):
    low = np.iinfo(dtype).min
    a = np.array([low, 7, 0, low], dtype)
    b = np.array([0, 0, 0, np.array(-1).astype(dtype)], dtype)
    found = call(op, a, b)
    np.testing.assert_array_equal(found[:3], 0)


def test_what_a_scalar_gives_takes_the_arrays_dtype():
    x = np.array([1, 2], "int32")
    assert call("_plus_scalar", x, scalar=1.5).tolist() == [2, 3]
    assert call("_div_scalar", x, scalar=0.5).tolist() == [2, 4]
    assert call("_plus_scalar", x, scalar=1.5).dtype == "int32"


def test_broadcast_of_random_shapes(rng):
    for _ in range(60):
        ndim = rng.integers(1, 6)
        full = rng.integers(1, 5, ndim)
        shapes = []
        for _ in range(2):
            own = np.where(rng.random(ndim) < 0.4, 1, full)
            shapes.append(tuple(own[rng.integers(0, ndim) if rng.random() < 0.3 else 0 :]))
        a, b = (rng.uniform(0.5, 2, s) for s in shapes)
        np.testing.assert_array_equal(call("broadcast_mul", a, b), a * b)
        out = a * b
        g = rng.uniform(-1, 1, out.shape)
        ga, gb = gradients("broadcast_div", [g], a, b)
        np.testing.assert_allclose(ga, fold(g / b, a), rtol=1e-12, atol=1e-15 * np.size(g))
        np.testing.assert_allclose(gb, fold(-g * a / b**2, b), rtol=1e-12, atol=1e-15 * np.size(g))


def fold(g, like):
    g = g.sum(tuple(range(g.ndim - like.ndim)))
    return g.sum(tuple(i for i, n in enumerate(like.shape) if n == 1), keepdims=True)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_large_broadcast(dtype, rng):
    a = rng.integers(0, 9, (300, 1, 70)).astype(dtype)
    b = rng.integers(0, 9, (5, 1)).astype(dtype)
    np.testing.assert_array_equal(call("broadcast_add", a, b), a + b)
    assert gradients("broadcast_add", [np.ones((300, 5, 70), dtype)], a, b)[0].min() == 5


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "int64"])
@pytest.mark.parametrize(
    "shapes",
    [
        ((500, 7, 3), (3,)),
        ((500, 7, 3), (500, 7, 1)),
        ((90, 5, 8), (5, 1)),
        ((700, 5), (700, 1)),
        ((1, 7, 3), (300, 1, 3)),
        ((60, 1, 37), (1, 3, 37)),
        ((41, 1, 2, 9), (1, 7, 1, 9)),
        ((150, 1, 3), (150, 3, 1)),
    ],
)
def test_short_rows(shapes, dtype, rng):
    """Rows of a few elements are laid out in chunks; no number of threads changes a bit."""
    a, b = (rng.integers(1, 9, s).astype(dtype) for s in shapes)
    whole = call("broadcast_mul", a, b)
    np.testing.assert_array_equal(whole, a * b)
    np.testing.assert_array_equal(call("broadcast_lesser", a, b), (a < b).astype(dtype))
    if a.dtype.kind != "f":
        return
    g = rng.integers(-9, 9, whole.shape).astype(dtype)
    found = [call("broadcast_power", a, b), *gradients("broadcast_div", [g], a, b)]
    limit = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    scale = np.abs(fold(g / b, a)).max()
    np.testing.assert_allclose(found[1], fold(g / b.astype("d"), a), rtol=limit, atol=limit * scale)
    before = set_num_threads(3, beyond_cores=True)
    try:
        again = [call("broadcast_power", a, b), *gradients("broadcast_div", [g], a, b)]
    finally:
        set_num_threads(before, beyond_cores=True)
    for one, other in zip(found, again):
        np.testing.assert_array_equal(one, other)


def test_shapes_that_do_not_fit():
    with pytest.raises(ShapeError, match=r"\(2, 3\).*\(4,\)"):
        call("broadcast_add", np.ones((2, 3)), np.ones(4))
    with pytest.raises(ShapeError, match="do not agree"):
        call("elemwise_add", np.ones(3), np.ones(4))


def test_unknown_parameter_is_named():
    with pytest.raises((ArgumentError, TypeError), match=r"scaler"):
        call("_plus_scalar", np.ones(3), scaler=1)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("op", ["broadcast_div", "broadcast_mod", "broadcast_power"])
def test_integer_gradients_never_trap(op, dtype):
    low = np.iinfo(dtype).min
    a, b = (x.ravel() for x in np.meshgrid([low, 7, 0, 1], [0, 1, 3, np.array(-1).astype(dtype)]))
    left, right = gradients(op, [np.ones(16, dtype)], a.astype(dtype), b.astype(dtype))
    if op == "broadcast_div":  # as MXNet has it: 1 / b and -a / b^2 of integers
        ones = np.isin(b, [1, np.array(-1).astype(dtype)])
        np.testing.assert_array_equal(left[~ones], 0)
        np.testing.assert_array_equal(right[b == 0], 0)
        np.testing.assert_array_equal(right[b == 1], (-a[b == 1]).astype(dtype))


def test_gradients_of_hypot_neither_overflow_nor_vanish():
    for dtype, values in (("float32", (3e38, 1e30, 1e-30, 1e-45)), ("float64", (1.7e308, 5e-324))):
        for value in values:
            x = np.array([value, -value], dtype)
            left, right = gradients("broadcast_hypot", [np.ones(2, dtype)], x, np.abs(x))
            np.testing.assert_allclose(left, [0.5**0.5, -(0.5**0.5)], rtol=1e-6)
            np.testing.assert_allclose(right, 0.5**0.5, rtol=1e-6)


def test_gradient_of_an_integer_mean_is_divided():
    """As in MXNet 1.9.1; a reciprocal of the number of elements would be 0."""
    x = np.array([[1, 2, 3], [4, 5, 6]], "int32")
    head = np.array([6, -7], "int32")
    assert gradients("mean", [head], x, axis=1)[0].tolist() == [[2, 2, 2], [-2, -2, -2]]
    assert gradients("mean", [np.array([255], "uint8")], np.ones(300, "uint8"))[0].max() == 0
