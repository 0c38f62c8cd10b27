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
    ("tanh", np.tanh, 2.4),
    ("sigmoid", sigmoid, 2.3),
    ("softrelu", softrelu, 1.7),
    ("erf", special.erf, 1.3),
    ("erfinv", lambda x: np.copysign(special.erfinv(x), x), 2.4),
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
    ("tan", np.tan, 2.6),
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


def test_gammaln():
    """Of positive numbers, closely about the zeros at 1 and 2 and where the formulas meet."""
    near = [np.linspace(a, b, 20001) for a, b in ((0, 1), (1, 3), (2.9, 3.1), (3, 40), (40, 1e4))]
    steps = np.arange(-3000, 3000)
    near += [1 + steps * 2.0**-24, 2 + steps * 2.0**-23, 3 + steps * 2.0**-23]
    near = np.concatenate(near).astype(np.float32)
    x = np.concatenate([near, np.abs(VALUES)])
    with np.errstate(all="ignore"):
        expected = special.gammaln(x.astype(np.float64))
        rounded = expected.astype(np.float32)
        got = apply("gammaln", x)
        unit = np.spacing(np.minimum(np.abs(rounded), np.float32(3e38))).astype(np.float64)
        error = np.abs(got - expected) / unit
    same = ~np.isfinite(rounded) | (rounded == 0)
    np.testing.assert_array_equal(got[same], rounded[same])
    assert not np.signbit(got[rounded == 0]).any()
    assert np.max(error[~same]) <= 2.9, x[~same][error[~same].argmax()]


def test_gammaln_of_negative_numbers_among_others():
    x = np.linspace(0.1, 30, 1000).astype(np.float32)
    alone = apply("gammaln", x)
    x[::37] = [-0.5, -1.5, -30.25, -2, np.nan, -1e-30, np.inf, -0.0, 0] * 3 + [-7.125]
    with np.errstate(all="ignore"):
        expected = special.gammaln(x[::37].astype(np.float64))
    got = apply("gammaln", x)
    np.testing.assert_allclose(got[::37], expected, rtol=1e-5)
    got[::37] = alone[::37]
    np.testing.assert_array_equal(got, alone)


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


@pytest.mark.parametrize("n", [1, 3, 5, 16, 17, 63, 64, 65, 100, 127, 128, 129, 130, 1000])
def test_softmax_lines(n, seed):
    x = (np.random.RandomState(seed).randn(7, n, 3) * 10).astype(np.float32)
    for axis in (0, 1, 2):
        expected = special.softmax(x.astype(np.float64), axis)
        got = mx.nd.softmax(mx.nd.array(x), axis=axis).asnumpy()
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-30)
        got = mx.nd.log_softmax(mx.nd.array(x), axis=axis).asnumpy()
        expected = special.log_softmax(x.astype(np.float64), axis)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("log_of", [False, True])
@pytest.mark.parametrize(
    "shape", [(1, 2), (3, 5), (70, 100), (2, 9, 256), (1, 200, 300), (3, 4, 700)]
)
def test_softmax_of_columns(shape, log_of):
    """Forward and gradient along an axis that is not the last, alike for any number of threads."""
    rng = np.random.default_rng(sum(shape))
    x, g = rng.standard_normal((2, *shape)).astype(np.float32) * 4
    axis = len(shape) - 2
    data = mx.sym.Variable("x")
    symbol = (mx.sym.log_softmax if log_of else mx.sym.softmax)(data, axis=axis)
    found = []
    for threads in (1, 2, 5):
        before = mx.set_num_threads(threads, beyond_cores=True)
        try:
            for req in ("write", "add"):
                grad = mx.nd.ones(shape)
                bound = symbol.bind(mx.cpu(), {"x": mx.nd.array(x)}, {"x": grad}, req)
                y = bound.forward(is_train=True)[0].asnumpy()
                bound.backward(mx.nd.array(g))
                found.append((y, grad.asnumpy() - (req == "add")))
        finally:
            mx.set_num_threads(before)
    wide = x.astype(np.float64)
    soft = special.softmax(wide, axis)
    if log_of:
        expected = special.log_softmax(wide, axis)
        gradient = g - soft * g.sum(axis, keepdims=True)
    else:
        expected = soft
        gradient = soft * (g - (g * soft).sum(axis, keepdims=True))
    np.testing.assert_allclose(found[0][0], expected, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(found[0][1], gradient, rtol=1e-5, atol=1e-4)
    for y, grad in found[1:]:
        np.testing.assert_array_equal(y, found[0][0])
        np.testing.assert_allclose(grad, found[0][1], rtol=1e-5, atol=1e-5)


def test_softmax_of_extreme_lines():
    """What underflows and what infinities do, in lines kept in registers and in longer ones."""
    for n in (3, 16, 100, 300):
        x = np.linspace(-120, 0, n).astype(np.float32)
        rows = np.stack([x, x * 0, x - 3e38, x * 2])
        rows[1, :-1] = -np.inf
        expected = special.softmax(rows.astype(np.float64), 1)
        got = mx.nd.softmax(mx.nd.array(rows)).asnumpy()
        np.testing.assert_allclose(got, expected, rtol=3e-6, atol=2e-45)
        strange = np.zeros((3, n), np.float32)
        strange[0, n // 2], strange[1, n - 1], strange[2] = np.nan, np.inf, -np.inf
        assert np.isnan(mx.nd.log_softmax(mx.nd.array(strange)).asnumpy()).all(1)[[0, 2]].all()
        assert np.isnan(mx.nd.softmax(mx.nd.array(strange)).asnumpy()[1, -1])


@pytest.mark.parametrize("n", [1, 8, 15, 16, 17, 63, 64, 65, 100, 200, 4096, 70001])
def test_reductions_see_every_element(n, seed):
    x = np.random.RandomState(seed).randn(3, n).astype(np.float32)
    a = mx.nd.array(x)
    atol = 1e-4 + 2e-9 * n  # sums of fewer lanes round more often
    np.testing.assert_allclose(
        mx.nd.sum(a, axis=1).asnumpy(), x.sum(1, dtype=np.float64), rtol=1e-6, atol=atol
    )
    np.testing.assert_array_equal(mx.nd.max(a, axis=1).asnumpy(), x.max(1))
    np.testing.assert_array_equal(mx.nd.min(a, axis=1).asnumpy(), x.min(1))
    for at in {0, n // 2, n - 1}:  # NaN wins wherever it is
        x[1, at] = np.nan
        got = mx.nd.max(mx.nd.array(x), axis=1).asnumpy()
        assert np.isnan(got).tolist() == [False, True, False]
        assert mx.nd.argmax(mx.nd.array(x), axis=1).asnumpy()[1] == at
        x[1, at] = 0
    for at in {0, n // 2, n - 1}:  # infinities of both signs, whose sum is NaN, and equal elements
        y = x.copy()
        y[0, at], y[1, at], y[2] = np.inf, -np.inf, 7
        y[0, 0] = y[0, 0] if at == 0 else -np.inf
        np.testing.assert_array_equal(mx.nd.max(mx.nd.array(y), axis=1).asnumpy(), y.max(1))
        np.testing.assert_array_equal(mx.nd.min(mx.nd.array(y), axis=1).asnumpy(), y.min(1))
        np.testing.assert_array_equal(mx.nd.argmax(mx.nd.array(y), axis=1).asnumpy(), y.argmax(1))
        np.testing.assert_array_equal(mx.nd.argmin(mx.nd.array(y), axis=1).asnumpy(), y.argmin(1))


@pytest.mark.parametrize("n", [1, 7, 16, 100, 255, 256, 257, 1000])
def test_layer_norm_lines(n, seed):
    rng = np.random.RandomState(seed)
    x = (rng.randn(5, n) + 3).astype(np.float32)
    gamma, beta = (rng.randn(n).astype(np.float32) for _ in range(2))
    wide = x.astype(np.float64)
    center = wide - wide.mean(1, keepdims=True)
    expected = center / np.sqrt((center**2).mean(1, keepdims=True) + 1e-5) * gamma + beta
    got = mx.nd.LayerNorm(*map(mx.nd.array, (x, gamma, beta)))
    np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-4, atol=2e-5)


def test_results_beyond_the_cache():
    """Large results are written past the caches: the same bytes as of smaller arrays, whatever the
    number of threads, and where input and output are one."""
    n = (33 << 20) // 4 + 100
    a = mx.nd.arange(n) % 1000
    b = mx.nd.arange(n) % 7 - 3
    parts = [slice(0, 70001), slice(n - 70001, n)]
    before = mx.set_num_threads(1)
    try:
        for threads in (1, 2, 3):
            mx.set_num_threads(threads)
            for function in (lambda a, b: a + b, lambda a, b: a > b, mx.nd.broadcast_power):
                whole = function(a, b)
                for part in parts:
                    small = function(a[part].copy(), b[part].copy())
                    np.testing.assert_array_equal(whole[part].asnumpy(), small.asnumpy())
            total = a.copy()
            total += b
            np.testing.assert_array_equal(total[n - 70001 :].asnumpy(), (a + b)[parts[1]].asnumpy())
            unaligned = a[1:] - b[:-1]
            assert unaligned[n - 2].asscalar() == a[n - 1].asscalar() - b[n - 2].asscalar()
    finally:
        mx.set_num_threads(before)


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


def test_power(seed):
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


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_circular_near_multiples_of_half_pi(name):
    """Where the argument's digits cancel; neighbours that do not suit vectors change nothing."""
    near = np.concatenate(
        [np.arange(-200000, 200000) * (np.pi / 4), np.linspace(-1.1e6, 1.1e6, 9999)]
    )
    x = near.astype(np.float32)
    expected = getattr(np, name)(x.astype(np.float64))
    got = apply(name, x)
    unit = np.spacing(np.abs(expected.astype(np.float32))).astype(np.float64)
    error = np.abs(got - expected) / unit
    limit = 2.6 if name == "tan" else 1.6
    assert error.max() <= limit, x[error.argmax()]
    for strange in (3e38, np.inf, np.nan, 2e6):
        with_strange = x[:1000].copy()
        with_strange[::37] = strange
        changed = apply(name, with_strange)
        kept = np.arange(1000) % 37 != 0
        np.testing.assert_array_equal(changed[kept], got[:1000][kept])


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_circular_gradients(name):
    x = np.linspace(-30, 30, 1001).astype(np.float32)
    x[7], x[500] = 2e6, 3e7
    data = mx.sym.var("x")
    executor = getattr(mx.sym, name)(data).bind(
        mx.cpu(), {"x": mx.nd.array(x)}, args_grad={"x": mx.nd.zeros(x.shape)}
    )
    executor.forward(is_train=True)
    executor.backward(mx.nd.full(x.shape, 2))
    wide = x.astype(np.float64)
    slopes = {"sin": np.cos(wide), "cos": -np.sin(wide), "tan": 1 / np.cos(wide) ** 2}
    np.testing.assert_allclose(
        executor.grad_arrays[0].asnumpy(), 2 * slopes[name], rtol=3e-6, atol=3e-7
    )


@pytest.mark.parametrize("by", [2, -2, 0.1, 3, -1e-38, 1e30, np.inf, -np.inf])
def test_remainder_by_a_number(by, seed):
    draw = np.random.RandomState(seed)
    x = (draw.standard_normal(5000) * np.exp(draw.uniform(-20, 40, 5000))).astype(np.float32)
    x[:7] = 0, -0.0, np.inf, -np.inf, np.nan, 4, -4
    got = (mx.nd.array(x) % by).asnumpy()
    with np.errstate(all="ignore"):
        expected = np.mod(x, np.float32(by))
    np.testing.assert_array_equal(got, expected)


def test_remainder_of_pairs(seed):
    draw = np.random.RandomState(seed)
    a = (draw.standard_normal(20000) * np.exp(draw.uniform(-20, 20, 20000))).astype(np.float32)
    b = (draw.standard_normal(20000) * np.exp(draw.uniform(-10, 10, 20000))).astype(np.float32)
    a[::5] = np.round(a[::5])
    b[::10] = np.round(b[::10]) + 1
    got = mx.nd.modulo(mx.nd.array(a), mx.nd.array(b)).asnumpy()
    np.testing.assert_array_equal(got, np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b))))


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 7, 8, 100])
def test_reductions_of_columns(rows, seed):
    for columns in (1, 15, 64, 1000, 1024, 1025, 3000):
        x = np.random.RandomState(seed).randn(rows, columns).astype(np.float32)
        a = mx.nd.array(x)
        total = x.sum(0, dtype=np.float64)
        np.testing.assert_allclose(mx.nd.sum(a, axis=0).asnumpy(), total, rtol=1e-6, atol=1e-5)
        np.testing.assert_array_equal(mx.nd.max(a, axis=0).asnumpy(), x.max(0))
        product = x.prod(0, dtype=np.float64)
        np.testing.assert_allclose(mx.nd.prod(a, axis=0).asnumpy(), product, rtol=1e-5, atol=1e-40)
        x[rows // 2, columns // 2] = np.nan
        assert np.isnan(mx.nd.min(mx.nd.array(x), axis=0).asnumpy()).sum() == 1


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 79, 80, 100, 1023, 1025])
def test_short_rows(n, seed):
    """Sums, softmax and LayerNorm of rows whose ends do not fill a vector."""
    x = np.random.RandomState(seed).randn(5, n).astype(np.float32)
    wide, a = x.astype(np.float64), mx.nd.array(x)
    close = {"rtol": 2e-6, "atol": 2e-6}
    cancelled = 1e-6 * np.abs(wide).sum(1).max()
    np.testing.assert_allclose(mx.nd.sum(a, axis=1).asnumpy(), wide.sum(1), atol=cancelled)
    np.testing.assert_allclose(mx.nd.prod(a, axis=1).asnumpy(), wide.prod(1), rtol=1e-5, atol=1e-40)
    np.testing.assert_array_equal(mx.nd.max(a, axis=1).asnumpy(), x.max(1))
    norms = np.sqrt((wide**2).sum(1))
    np.testing.assert_allclose(mx.nd.norm(a, axis=1).asnumpy(), norms, **close)
    np.testing.assert_allclose(mx.nd.softmax(a).asnumpy(), special.softmax(wide, 1), **close)
    np.testing.assert_allclose(
        mx.nd.log_softmax(a).asnumpy(), special.log_softmax(wide, 1), **close
    )
    inside = mx.nd.array(x)
    mx.nd.softmax(inside, out=inside)
    np.testing.assert_array_equal(inside.asnumpy(), mx.nd.softmax(a).asnumpy())
    gamma, beta = np.linspace(1, 2, n).astype(np.float32), np.linspace(0, 1, n).astype(np.float32)
    got = mx.nd.LayerNorm(a, mx.nd.array(gamma), mx.nd.array(beta)).asnumpy()
    expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(got, expected * gamma + beta, rtol=1e-4, atol=1e-5)
