"""Functions that NumPy once computed on the host: values in all modes, gradients, graphs."""

import warnings

import numpy as np
import pytest

import cynet as mx

A = np.array([[0.3, -1.2, 2.1, 0.7], [1.4, 0.2, -0.6, 3.3], [-2.2, 0.9, 1.1, -0.4]])
N = np.array([[0.3, np.nan, 2.1, 0.7], [1.4, 0.2, np.nan, 3.3], [np.nan, 0.9, 1.1, -0.4]])
V, W = np.array([1.2, -0.5, 0.8, 2.0, -1.1]), np.array([0.5, 1.5, -1.0])
XP, FP = np.array([0.0, 1.0, 2.5, 4.0]), np.array([1.0, 3.0, 2.0, 5.0])
X = np.array([-1.0, 0.3, 1.7, 3.9, 6.0])
MASK = np.array([True, False, True, True, False])

CALLS = [
    *[(name, (N,), {"axis": axis, "keepdims": keep})
      for name in ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd",
                   "nanmedian")
      for axis in (None, 0, -1, (0, 1)) for keep in (False, True)],
    *[(name, (N, q), {"axis": axis, "method": method})
      for name, q in (("nanquantile", 0.3), ("nanquantile", [0.0, 0.6, 1.0]),
                      ("nanpercentile", 40))
      for axis in (None, 1) for method in ("linear", "lower", "higher", "midpoint", "nearest")],
    ("nanvar", (N,), {"ddof": 1, "axis": 0}), ("nanstd", (N,), {"ddof": 2, "axis": 1}),
    ("nansum", (np.full((2, 2), np.nan),), {"axis": 0}),
    *[(name, (x,), {"axis": axis})
      for name, x in (("nancumsum", N), ("nancumprod", N), ("cumprod", A))
      for axis in (None, 0, 1)],
    ("cumprod", (np.array([2.0, 0.0, 3.0, 0.0, 5.0]),), {}),
    ("cumulative_prod", (A,), {"axis": 1, "include_initial": True}),
    *[("pad", (A, width), {"mode": mode})
      for mode in ("constant", "edge", "reflect", "symmetric", "wrap", "maximum", "minimum",
                   "mean", "median", "linear_ramp")
      for width in (2, (1, 3), ((1, 2), (0, 3)), ((0, 0), (2, 0)))],
    ("pad", (A, 1), {"mode": "constant", "constant_values": 7}),
    ("pad", (A, ((1, 2), (3, 1))), {"mode": "constant", "constant_values": ((1, 2), (3, 4))}),
    ("pad", (A, 2), {"mode": "linear_ramp", "end_values": 5}),
    ("pad", (A, ((3, 2), (1, 4))), {"mode": "linear_ramp", "end_values": ((1, -2), (0.5, 4))}),
    *[("pad", (A, 5), {"mode": mode, "reflect_type": kind})
      for mode in ("reflect", "symmetric") for kind in ("odd", "even")],
    *[("pad", (A, 2), {"mode": mode, "stat_length": length})
      for mode in ("maximum", "minimum", "mean", "median") for length in (1, 2, ((1, 3), (2, 9)))],
    ("polyval", (W, A), {}), ("polyval", (A[:, :3], W), {}), ("polyval", (V, W), {}),
    ("polyadd", (V, W), {}),
    ("polysub", (W, V), {}), ("polymul", (V, W), {}), ("polyint", (V,), {}),
    ("polyint", (V,), {"m": 2, "k": [3.0, 4.0]}), ("polyint", (V,), {"m": 3, "k": 2.0}),
    ("vander", (W,), {}), ("vander", (W, 5), {"increasing": True}), ("vander", (W, 0), {}),
    *[(name, pair, {"mode": mode}) for name in ("convolve", "correlate")
      for mode in ("full", "same", "valid")
      for pair in ((V, W), (W, V), (V, V[:2]), (V[:2], V), (W, W), (V[:1], W))],
    ("trapezoid", (A,), {}), ("trapezoid", (A,), {"dx": 0.5, "axis": 0}),
    ("trapezoid", (A, np.array([0.0, 1.0, 3.0, 3.5])), {}),
    ("trapezoid", (A, np.array([0.0, 1.0, 3.0])), {"axis": 0}), ("trapezoid", (A, A * 2), {}),
    ("interp", (X, XP, FP), {}), ("interp", (X, XP, FP), {"left": -9.0, "right": 9.0}),
    ("interp", (X * 3, XP, FP), {"period": 5.0}), ("interp", (X, XP[:1], FP[:1]), {}),
    ("interp", (A, XP, FP), {}),
    ("delete", (A, 1), {"axis": 0}), ("delete", (A, [0, -1]), {"axis": 1}),
    ("delete", (A, slice(1, None, 2)), {"axis": 1}), ("delete", (V, MASK), {}),
    ("delete", (A, 5), {}),
    ("insert", (A, 1, 9.0), {"axis": 0}),
    ("insert", (A, 2, np.array([1.0, 2.0, 3.0])), {"axis": 1}),
    ("insert", (A, [0, 2], np.array([[5.0], [6.0], [7.0]])), {"axis": 1}),
    ("insert", (A, [1, 1], np.array([5.0, 6.0])), {}), ("insert", (V, slice(0, 3), 4.0), {}),
    ("insert", (V, -1, 4.0), {}),
    ("insert", (A, [1], np.array([[1.0], [2.0], [3.0]])), {"axis": 1}),
    ("compress", (MASK[:3], A), {"axis": 0}), ("compress", (MASK, A), {}),
    ("extract", (A > 0.5, A), {}), ("resize", (A, (5, 3)), {}), ("resize", (V, 3), {}),
    ("resize", (V, (2, 0)), {}),
    ("select", ([A > 1, A > 0], [A, A * A]), {"default": -1.0}),
    ("select", ([A > 1, A > 0], [A, 2.0]), {}),
    ("piecewise", (A, [A < 0, A >= 1], [lambda x: -x, lambda x: x * x]), {}),
    ("piecewise", (A, [A < 0, A >= 1], [lambda x: -x, 3.0, lambda x: x + 10]), {}),
    ("block", ([[A, A * 2], [np.ones((1, 8))]],), {}), ("block", ([V, W],), {}),
    ("trim_zeros", (np.array([0.0, 0.0, 1.5, 0.0, 2.0, 0.0]),), {}),
    ("trim_zeros", (np.array([0.0, 1.5, 2.0, 0.0]),), {"trim": "b"}),
    ("sinc", (A,), {}), ("heaviside", (np.array([-1.0, 0.0, 2.0]), W), {}),
    ("unwrap", (V * 4,), {}), ("unwrap", (A * 5,), {"axis": 0}),
    ("unwrap", (V * 9,), {"period": 7.0}),
    ("cov", (A,), {}), ("cov", (A,), {"rowvar": False}), ("cov", (A, A * A), {"bias": True}),
    ("cov", (V,), {}), ("cov", (A,), {"ddof": 2}),
    ("cov", (A,), {"aweights": np.array([1.0, 2.0, 0.5, 1.0])}),
    ("cov", (A,), {"fweights": np.array([1, 2, 1, 3])}),
    ("poly", (W,), {}), ("poly", (V,), {}), ("polyfit", (V, W[[0, 1, 2, 0, 1]], 2), {}),
    ("polyfit", (V, np.stack([V, V * V], 1), 1), {"w": np.array([1.0, 2.0, 1.0, 0.5, 1.0])}),
    ("gradient", (V,), {}), ("gradient", (A,), {"axis": 1}), ("gradient", (V, 0.5), {}),
    ("gradient", (V, np.array([0.0, 0.5, 1.5, 1.8, 3.0])), {}),
    ("gradient", (V, np.array([0.0, 0.5, 1.5, 1.8, 3.0])), {"edge_order": 2}),
    ("gradient", (A, 2.0), {"axis": 0, "edge_order": 2}),
    ("corrcoef", (A,), {}), ("corrcoef", (A,), {"rowvar": False}), ("corrcoef", (V, V * V), {}),
]  # fmt: skip
IDS = [f"{i}-{name}" for i, (name, _, _) in enumerate(CALLS)]


def _ours(value):
    if isinstance(value, np.ndarray):
        return mx.np.array(value)
    return type(value)(map(_ours, value)) if isinstance(value, (list, tuple)) else value


def _floats(value):
    if isinstance(value, mx.np.ndarray):
        return [value] if value.dtype == np.float64 else []
    return [x for each in value for x in _floats(each)] if isinstance(value, (list, tuple)) else []


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of NumPy, of NaN alone
        yield


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=IDS)
def test_values(name, args, kwargs):
    expected = getattr(np, name)(*args, **kwargs)
    found = getattr(mx.np, name)(*_ours(args), **{k: _ours(v) for k, v in kwargs.items()})
    assert type(found) is mx.np.ndarray
    assert found.shape == np.shape(expected) and found.dtype == expected.dtype
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=IDS)
def test_gradients(name, args, kwargs):
    args, kwargs = _ours(args), {k: _ours(v) for k, v in kwargs.items()}
    function, inputs = getattr(mx.np, name), _floats(args)
    for x in inputs:
        x.attach_grad("add")
        x.grad[...] = 0.5
    with mx.autograd.record():
        out = function(*args, **kwargs)
        if not out.size:
            return
        weights = mx.np.array(np.cos(np.arange(out.size)).reshape(out.shape))
        head = mx.np.nansum(out * weights)
    head.backward()
    for x in inputs:
        host, got = x.asnumpy(), x.grad.asnumpy() - 0.5
        assert np.isfinite(got).all()
        for at in list(np.ndindex(host.shape))[:: max(1, host.size // 6)]:
            if np.isnan(host[at]):
                assert got[at] == 0
                continue
            if host[at] == 0 and name in ("heaviside", "trim_zeros"):  # another one is another case
                continue
            ends = []
            for step in (1e-6, -1e-6):
                other = host.copy()
                other[at] += step
                x[...] = other
                ends.append(mx.np.nansum(function(*args, **kwargs) * weights).item())
            x[...] = host
            slope = (ends[0] - ends[1]) / 2e-6
            assert abs(slope - got[at]) < 1e-4 * (1 + abs(slope)), (at, slope, got[at])


# Shapes that values decide, and those without elements, are no graphs.
TRACED = [
    (name, args, kwargs) for name, args, kwargs in CALLS
    if name not in ("extract", "trim_zeros", "compress", "block", "select", "polymul")
    and not (isinstance(args[-1], (tuple, int)) and args[-1] in ((2, 0), 0))
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "kwargs"), TRACED)
def test_graphs(name, args, kwargs):
    first = next(each for each in args if isinstance(each, np.ndarray))
    rest = [None if each is first else _ours(each) for each in args]
    kwargs = {k: _ours(v) for k, v in kwargs.items()}

    def run(F, x):
        return getattr(mx.np, name)(*[x if each is None else each for each in rest], **kwargs)

    _compare_graph(run, first)


def test_graphs_of_lists():
    _compare_graph(lambda F, x: mx.np.block([[x, x * 2], [x * x, x + 1]]), A)
    _compare_graph(lambda F, x: mx.np.select([x > 1, x > 0], [x, x * x], default=-1.0), A)


def _compare_graph(run, data):
    net = mx.gluon.nn.HybridLambda(run)
    plain = net(mx.np.array(data))
    net.hybridize()
    found = net(mx.np.array(data))
    assert net._last_graph() is not None
    np.testing.assert_allclose(found.asnumpy(), plain.asnumpy(), rtol=1e-12)


def test_what_numpy_computes_under_record():
    x = mx.np.array(V)
    x.attach_grad()
    with mx.autograd.record():
        places = mx.np.searchsorted(mx.np.array([0.0, 1.0]), x * 2)
        y = (x * (places > 0)).sum()
        with pytest.raises(TypeError, match="poly is computed by NumPy, and no gradient"):
            mx.np.poly(mx.np.eye(2) * x[0])
    y.backward()
    assert places.tolist() == np.searchsorted([0.0, 1.0], V * 2).tolist()
    assert x.grad.tolist() == (V > 0).tolist()


def test_slopes_along_all_axes():
    for found, expected in zip(mx.np.gradient(mx.np.array(A), 2.0, 0.5), np.gradient(A, 2.0, 0.5)):
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-12)


def test_refusals():
    x = mx.np.array(A)
    for act, match in (
        (lambda: mx.np.pad(x, 1, "no"), "mode 'no' is not known"),
        (lambda: mx.np.pad(x, -1), "width in -1 is negative"),
        (lambda: mx.np.pad(x, 1.5), "widths are ints"),
        (lambda: mx.np.pad(x, 1, "edge", constant_values=1), "takes no constant_values"),
        (lambda: mx.np.pad(x, [[1, 2, 3]]), "no pair for each of 2 axes"),
        (lambda: mx.np.pad(mx.np.zeros((0,)), 1, "edge"), "axis 0 is empty"),
        (lambda: mx.np.convolve(x, x), "takes arrays of one axis"),
        (lambda: mx.np.convolve(x[0], x[0], "best"), "mode is 'full'"),
        (lambda: mx.np.polyint(x[0], -1), "m is an int that is not negative"),
        (lambda: mx.np.polyint(x[0], 3, [1.0, 2.0]), "3 constants are needed"),
        (lambda: mx.np.interp(x, x[0], x[1, :2]), "of one axis and one length"),
        (lambda: mx.np.interp(x, x[0], x[1], period=0), "period is 0"),
        (lambda: mx.np.select([x > 0], []), "as many choices as conditions"),
        (lambda: mx.np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]), "1 or 2 functions"),
        (lambda: mx.np.block([[x], x]), "not nested alike"),
        (lambda: mx.np.resize(x, (-1, 2)), "is negative"),
        (lambda: mx.np.gradient(x, 1.0, 2.0, 3.0), "3 spacings for 2 axes"),
        (lambda: mx.np.gradient(x, edge_order=3), "edge_order is 1 or 2"),
        (lambda: mx.np.gradient(x[:1], axis=0), "too few elements"),
        (lambda: mx.np.polyfit(x[0], x[0], -1), "deg is an int that is not negative"),
        (lambda: mx.np.polyfit(x[0], x[0, :2], 1), "x of shape"),
        (lambda: mx.np.cov(mx.np.ones((2, 2, 2))), "one or two axes"),
    ):
        with pytest.raises((ValueError, TypeError), match=match):
            act()


def test_the_middle_of_nothing_is_nan():
    for shape, axis in (((0,), None), ((0, 3), 0), ((2, 0), 1)):
        for name in ("median", "nanmedian"):
            expected = getattr(np, name)(np.zeros(shape), axis=axis)
            found = getattr(mx.np, name)(mx.np.array(np.zeros(shape)), axis=axis)
            np.testing.assert_array_equal(found.asnumpy(), expected)


def test_out_has_the_shape_of_the_result():
    x = mx.np.array(A)
    for act in (
        lambda out: mx.np.sum(x, axis=0, out=out),
        lambda out: mx.np.reshape(x, -1, out=out),
        lambda out: mx.np.nanmean(x, axis=0, out=out),
    ):
        with pytest.raises(ValueError, match="out has shape"):
            act(mx.np.zeros((2, 4), dtype="float64"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parts_of_numbers_at_the_ends_of_their_range(dtype):
    """Exactly NumPy's: subnormal numbers, the largest, 0 and what is not finite."""
    limits = np.finfo(dtype)
    x = [0, 1, -1, 3, 0.3, 8, limits.max, -limits.max, limits.tiny, limits.tiny / 8, np.inf, np.nan]
    x = np.array([*x, -0.0, limits.smallest_subnormal, 1 - limits.epsneg], dtype)
    ours = mx.np.array(x, dtype=dtype)
    np.testing.assert_array_equal(mx.np.spacing(ours).asnumpy(), np.spacing(x))
    fraction, power = np.frexp(x)
    found = mx.np.frexp(ours)
    np.testing.assert_array_equal(found[0].asnumpy(), fraction)
    assert found[1].tolist() == power.tolist() and found[1].dtype == power.dtype
    back = mx.np.ldexp(found[0], found[1].astype(dtype))
    np.testing.assert_array_equal(back.asnumpy(), x)
    with pytest.raises(TypeError, match="does not take float16"):
        mx.np.nextafter(ours.astype("float16"), ours.astype("float16"))


def test_places_are_refused_where_they_are_outside():
    x = mx.np.array(V)
    for act, match in (
        (lambda: mx.np.partition(x, 99), r"kth\(=99\) out of bounds"),
        (lambda: mx.np.argpartition(x, [0, -99]), r"kth\(=-99\) out of bounds"),
        (lambda: mx.np.nanargmax(x * float("nan")), "all-NaN slice"),
        (lambda: mx.np.searchsorted(x, x, "middle"), "side is 'left' or 'right'"),
        (lambda: mx.np.choose(mx.np.array([2], dtype="int64"), [x, x]), "one of 2 arrays"),
        (lambda: mx.np.random.choice(3, 4, replace=False), "4 of 3 without"),
        (lambda: mx.np.random.choice(3, 4, p=[0.5, 0.5]), r"p has shape \(2,\)"),
        (lambda: mx.np.unpackbits(x), "takes uint8"),
        (lambda: mx.np.apply_along_axis(lambda v: v, 0, mx.np.zeros((2, 0))), "has no vector"),
    ):
        with pytest.raises(mx.base.MXNetError, match=match):
            act()


def test_a_gradient_goes_to_elements_of_sets_and_to_weights():
    x = mx.np.array([3.0, 1.0, 3.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = (mx.np.unique(x) * mx.np.array([1.0, 2.0, 3.0])).sum()
    y.backward()
    assert x.grad.tolist() == [3, 1, 0, 2]
    with mx.autograd.record():
        counts, edges = mx.np.histogram(mx.np.array([0.0, 1.0, 1.5, 2.0]), 2, weights=x)
        last = counts[1]
    assert counts.tolist() == [3, 6] and edges.tolist() == [0, 1, 2]
    last.backward()
    assert x.grad.tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    "run",
    [
        lambda x: mx.np.repeat(x, 2),
        lambda x: mx.np.take(x, []),
        lambda x: mx.np.diag(x, 1),
        lambda x: mx.np.diagflat(x),
        lambda x: mx.np.unique(x),
        lambda x: mx.np.broadcast_to(x, (2, 0)),
        lambda x: mx.np.broadcast_to(x.sum(), (0, 3)),
        lambda x: mx.np.setdiff1d(x, x),
        lambda x: mx.np.intersect1d(x, mx.np.ones(2)),
        lambda x: mx.np.tril(x),
        lambda x: mx.np.concatenate([x, x]),
    ],
)
def test_what_is_made_of_nothing_belongs_to_the_graph(run):
    x = mx.np.zeros((0,))
    x.attach_grad()
    with mx.autograd.record():
        y = run(x)
    y.backward()
    assert x.grad.shape == (0,)


def test_the_softmax_of_a_single_number():
    x = mx.np.array(3.0)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.npx.softmax(x)
        z = mx.npx.log_softmax(x)
    assert y.shape == z.shape == () and (y.item(), z.item()) == (1, 0)
    y.backward()
    assert x.grad.item() == 0


@pytest.mark.parametrize("equal_nan", [False, True])
def test_array_equal_and_nan(equal_nan):
    """It was taken and forgotten: arrays with NaN were never equal."""
    nan = float("nan")
    for a, b in (([nan, 1], [nan, 1]), ([nan, 1], [1, nan]), ([nan], [nan, 1]), ([1, 2], [1, 2])):
        found = mx.np.array_equal(mx.np.array(a), mx.np.array(b), equal_nan=equal_nan)
        assert found is np.array_equal(a, b, equal_nan=equal_nan)
    whole = mx.np.array([1, 2], dtype="int32")
    assert mx.np.array_equal(whole, whole, equal_nan=equal_nan)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("gamma", (2.0,)),
        ("laplace", ()),
        ("beta", (1.0, 2.0)),
        ("chisquare", (2.0,)),
        ("normal", ()),
    ],
)
def test_random_numbers_have_the_dtype_that_is_asked_for(name, params):
    draw = getattr(mx.np.random, name)
    assert draw(*params, size=3).dtype == np.float32
    for dtype in ("float16", "float32", "float64", np.float64):
        drawn = draw(*params, size=(2, 3), dtype=dtype)
        assert drawn.dtype == np.dtype(dtype) and drawn.shape == (2, 3)
    if name != "normal":
        with pytest.raises(TypeError, match=f"random.{name}: dtype is one of floats, got int32"):
            draw(*params, size=3, dtype="int32")
