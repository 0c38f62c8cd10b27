"""Vector functions of float32 against NumPy and SciPy in float64, over the whole range of float."""

import numpy as np
import pytest
from scipy import special

import cynet as mx

EDGES = [0, 1e-45, 1.1754944e-38, 1e-20, 0.4999, 0.5, 0.625, 1, 1.0000001, 2, 10, 1000, 8388609]
EDGES += [87.3, 88.72, 88.73, 89.4, 89.42, 103.9, 104.1, 3.4028235e38, np.inf]


def sigmoid(x):
    return special.expit(x)


def softrelu(x):
    return np.logaddexp(0, x)


# name, reference, greatest error in units of the last place
FUNCTIONS = [
    ("exp", np.exp, 1.1),
    ("expm1", np.expm1, 1.6),
    ("log", np.log, 1),
    ("log2", np.log2, 1.7),
    ("log10", np.log10, 2),
    ("log1p", np.log1p, 1.5),
    ("tanh", np.tanh, 1.4),
    ("sigmoid", sigmoid, 2.3),
    ("softrelu", softrelu, 1.7),
    ("erf", special.erf, 1.3),
    ("sinh", np.sinh, 1.7),
    ("cosh", np.cosh, 1.5),
    ("arcsinh", np.arcsinh, 1.8),
    ("arccosh", np.arccosh, 1.9),
    ("arctanh", np.arctanh, 2.1),
    ("arctan", np.arctan, 2.9),
    ("arcsin", np.arcsin, 2.3),
    ("arccos", np.arccos, 1.4),
    ("cbrt", np.cbrt, 1),
    ("sqrt", np.sqrt, 0.51),
    ("rsqrt", lambda x: 1 / np.sqrt(x), 1.6),
    ("sin", np.sin, 1.6),
    ("cos", np.cos, 1.6),
]


def apply(name, values):
    if name == "softrelu":
        return mx.nd.Activation(mx.nd.array(values), act_type="softrelu").asnumpy()
    return getattr(mx.nd, name)(mx.nd.array(values)).asnumpy()


def whole_range():
    """Each 4093rd float there is, of both signs, and the edges of the functions' branches."""
    bits = np.arange(0, 2**32, 4093, dtype=np.uint64).astype(np.uint32)
    edges = np.array([*EDGES, *(-x for x in EDGES), -0.0, np.nan], np.float32)
    return np.concatenate([bits.view(np.float32), edges])


VALUES = whole_range()


@pytest.mark.parametrize("name, reference, limit", FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_float_range(name, reference, limit):
    with np.errstate(all="ignore"):
        expected = reference(VALUES.astype(np.float64))
        rounded = expected.astype(np.float32)
        got = apply(name, VALUES)
        unit = np.spacing(np.minimum(np.abs(rounded), np.float32(3e38))).astype(np.float64)
        error = np.abs(got - expected) / unit
    same_nan = np.isnan(got) == np.isnan(rounded)
    assert same_nan.all(), VALUES[~same_nan][:5]
    # what rounds to infinity may come out as the largest float, and the other way round
    great = (np.abs(expected) > 3.4028233e38) & (np.abs(got) > 3.4028233e38)
    error[np.isnan(rounded) | great] = 0
    worst = np.argmax(error)
    assert error[worst] <= limit, f"{name}({VALUES[worst]!r}) = {got[worst]!r}"
    zeros = (rounded == 0) & (got == 0)
    assert (np.signbit(got) == np.signbit(rounded))[zeros].all(), "the sign of a zero"


@pytest.mark.parametrize("name", ["exp", "tanh", "log1p", "erf", "cbrt"])
def test_every_length_and_alignment(name):
    """The ends of a run, which vectors do not fill, and arrays that start between vectors."""
    values = np.linspace(-0.9, 3, 200, dtype=np.float32)
    whole = mx.nd.array(values)
    expected = apply(name, values)
    for start in (0, 1, 3, 7):
        for n in (*range(1, 40), 63, 64, 65, 127, 150):
            got = getattr(mx.nd, name)(whole[start : start + n]).asnumpy()
            np.testing.assert_allclose(got, expected[start : start + n], rtol=2e-7)


def test_exact_values():
    powers = np.arange(-126, 128, dtype=np.float32)
    np.testing.assert_array_equal(mx.nd.log2(mx.nd.array(2.0**powers)).asnumpy(), powers)
    assert mx.nd.exp(mx.nd.zeros(3)).asnumpy().tolist() == [1, 1, 1]
    assert mx.nd.log(mx.nd.ones(3)).asnumpy().tolist() == [0, 0, 0]
    halves = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 8388609], np.float32)
    expected = [1, 2, 3, -1, -2, 0, 8388609]
    assert mx.nd.round(mx.nd.array(halves)).asnumpy().tolist() == expected


@pytest.mark.parametrize("n", [1, 5, 63, 64, 65, 130, 1000])
def test_softmax_lines(n):
    seed = np.random.randint(1 << 30)
    print("seed", seed)
    x = (np.random.RandomState(seed).randn(7, n, 3) * 10).astype(np.float32)
    for axis in (0, 1, 2):
        expected = special.softmax(x.astype(np.float64), axis)
        got = mx.nd.softmax(mx.nd.array(x), axis=axis).asnumpy()
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-30)
        got = mx.nd.log_softmax(mx.nd.array(x), axis=axis).asnumpy()
        expected = special.log_softmax(x.astype(np.float64), axis)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 200, 4096, 70001])
def test_reductions_see_every_element(n):
    seed = np.random.randint(1 << 30)
    print("seed", seed)
    x = np.random.RandomState(seed).randn(3, n).astype(np.float32)
    a = mx.nd.array(x)
    np.testing.assert_allclose(
        mx.nd.sum(a, axis=1).asnumpy(), x.sum(1, dtype=np.float64), rtol=1e-6, atol=1e-4
    )
    np.testing.assert_array_equal(mx.nd.max(a, axis=1).asnumpy(), x.max(1))
    np.testing.assert_array_equal(mx.nd.min(a, axis=1).asnumpy(), x.min(1))
    for at in {0, n // 2, n - 1}:  # NaN wins wherever it is
        x[1, at] = np.nan
        got = mx.nd.max(mx.nd.array(x), axis=1).asnumpy()
        assert np.isnan(got).tolist() == [False, True, False]
        x[1, at] = 0


def power_error(base, exponent, got):
    """Greatest error of base ** exponent in units of the last place; exact where it is special."""
    with np.errstate(all="ignore"):
        expected = np.power(np.float64(base), np.float64(exponent))
        rounded = expected.astype(np.float32)
    special_value = ~np.isfinite(rounded) | (rounded == 0)
    np.testing.assert_array_equal(got[special_value], rounded[special_value])
    np.testing.assert_array_equal(np.signbit(got), np.signbit(rounded))
    unit = np.spacing(np.abs(rounded[~special_value])).astype(np.float64)
    return np.max(np.abs(got[~special_value] - expected[~special_value]) / unit, initial=0)


def test_power():
    seed = np.random.randint(1 << 30)
    print("seed", seed)
    rng = np.random.RandomState(seed)
    a = np.exp(rng.uniform(-30, 30, 20000)).astype(np.float32)
    b = rng.uniform(-5, 5, 20000).astype(np.float32)
    b[::3] = np.round(b[::3])
    a[::3] *= np.sign(rng.randn(len(a[::3]))).astype(np.float32)
    assert power_error(a, b, mx.nd.power(mx.nd.array(a), mx.nd.array(b)).asnumpy()) < 0.52
    for n in (0, 0.5, 1, 2, 2.5, 3, -1, -2.5):  # one number for all
        x = np.abs(a)
        got = (mx.nd.array(x) ** n).asnumpy()
        assert power_error(x, np.full_like(a, n), got) < 0.52, n
    got = (1.5 ** mx.nd.array(b)).asnumpy()
    assert power_error(np.full_like(b, 1.5), b, got) < 0.52


def test_power_of_special_values():
    edges = [0, 1, 2, 0.5, 3, np.inf, 1e-45, 3e38, 16777217, 16777215, 8388607, 1e30, 2.5]
    edges = np.array([*edges, *(-x for x in edges)], np.float32)
    a, b = (x.ravel() for x in np.meshgrid(edges, edges))
    got = mx.nd.power(mx.nd.array(a), mx.nd.array(b)).asnumpy()
    with np.errstate(all="ignore"):
        same = np.isnan(got) == np.isnan(np.power(np.float64(a), np.float64(b)))
    assert same.all(), (a[~same], b[~same])
    there = ~np.isnan(got)
    assert power_error(a[there], b[there], got[there]) < 0.52
    nan = mx.nd.array([np.nan])
    assert mx.nd.power(nan, mx.nd.zeros(1)).asscalar() == 1
    assert mx.nd.power(mx.nd.ones(1), nan).asscalar() == 1
    assert np.isnan(mx.nd.power(nan, mx.nd.ones(1)).asscalar())
