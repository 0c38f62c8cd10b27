"""contrib's operators and functions: what the table of cases does not say."""

import numpy as np
import pytest

import cynet as mx
from cynet import autograd as ag
from cynet import nd

C = nd.contrib


@pytest.mark.parametrize(
    ("function", "factor"),
    [(C.round_ste, 1), (C.sign_ste, 1), (lambda x: C.gradientmultiplier(x, scalar=-0.3), -0.3)],
)
def test_straight_through_of_both_orders(function, factor):
    """The gradient is a multiple of the output's; a second one goes the same way."""
    x = nd.array([0.4, -1.7, 2.2], dtype="float64")
    x.attach_grad()
    with ag.record():
        y = function(x)
        (first,) = ag.grad((y * y * y).sum(), [x], create_graph=True)
    values = y.asnumpy()
    np.testing.assert_allclose(first.asnumpy(), factor * 3 * values**2, 1e-12)
    first.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), factor * factor * 6 * values, 1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_lines_of_infinity(dtype):
    """What has no square does not compute 0 x infinity."""
    x = np.array([np.inf, -np.inf, np.nan, 4] * 40, dtype)
    values = nd.array(x, dtype=dtype)
    for found, wanted in (
        (C.div_sqrt_dim(values.reshape((40, 4))).reshape(-1), x / 2),
        (C.gradientmultiplier(values, scalar=3), x),
        (C.quadratic(values, b=-2, c=1), 1 - 2 * x),
        (C.quadratic(values, c=7), np.full_like(x, 7)),
        (C.quadratic(values, a=1, b=2), (x + 2) * x),
    ):
        np.testing.assert_array_equal(found.asnumpy(), wanted)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_finiteness(dtype):
    values = np.array([1, 0, 7]) if dtype == "int32" else np.array([1, np.nan, np.inf, -np.inf])
    x = nd.array(values.astype(dtype), dtype=dtype)
    for name in ("isfinite", "isinf", "isnan"):
        found = getattr(C, name)(x)
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(found.asnumpy(), getattr(np, name)(values), name)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_boolean_mask(axis):
    values = np.arange(24.0).reshape(4, 3, 2)
    mask = np.array([1, 0, -2, 0])[: values.shape[axis]]
    data = nd.array(values)
    data.attach_grad()
    with ag.record():
        out = C.boolean_mask(data, nd.array(mask), axis=axis)
    np.testing.assert_array_equal(out.asnumpy(), np.compress(mask != 0, values, axis))
    out.backward()
    wanted = np.zeros_like(values)
    np.moveaxis(wanted, axis, 0)[mask != 0] = 1
    np.testing.assert_array_equal(data.grad.asnumpy(), wanted)


def test_boolean_mask_of_nothing_and_refused():
    data = nd.ones((3, 2))
    assert C.boolean_mask(data, nd.zeros((3,))).shape == (0, 2)
    out = nd.zeros((2, 2))
    assert C.boolean_mask(data, nd.array([1, 0, 1]), out=out, name="rows") is out
    np.testing.assert_array_equal(out.asnumpy(), 1)
    with pytest.raises(mx.MXNetError, match=r"\(3, 2\)"):
        C.boolean_mask(data, nd.array([1, 0, 1]), out=nd.zeros((3, 2)))
    with pytest.raises(mx.MXNetError, match=r"index has shape \(2,\), expected \(3,\)"):
        C.boolean_mask(data, nd.ones((2,)))
    with pytest.raises(mx.MXNetError, match="boolean_mask: axis 2 is out of range"):
        C.boolean_mask(data, nd.ones((3,)), axis=2)
    with pytest.raises(mx.MXNetError, match="boolean_mask: its output's shape depends on values"):
        mx.sym.contrib.boolean_mask(mx.sym.var("data"), mx.sym.var("index"))


def test_fft_there_and_back():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 7, 16, 60, 97, 128, 1000):
        x = rng.standard_normal((3, n))
        there = C.fft(nd.array(x, dtype="float64"))
        wanted = np.fft.fft(x)
        np.testing.assert_allclose(there.asnumpy()[:, ::2], wanted.real, 0, 1e-9)
        np.testing.assert_allclose(there.asnumpy()[:, 1::2], wanted.imag, 0, 1e-9)
        np.testing.assert_allclose(C.ifft(there).asnumpy() / n, x, 0, 1e-10)
    with pytest.raises(mx.MXNetError, match="_contrib_ifft: 'data' has shape .2, 5."):
        C.ifft(nd.ones((2, 5)))


@pytest.mark.parametrize("place", [-1, 3])
def test_indices_outside_are_refused(place):
    with pytest.raises(IndexError, match=f"_contrib_index_copy: .*has 3.*got {place}"):
        C.index_copy(nd.ones((3, 2)), nd.array([0, place]), nd.ones((2, 2))).asnumpy()
    sketch = [nd.ones((2, 2)), nd.array([[0, place]]), nd.ones((1, 2))]
    with pytest.raises(IndexError, match=r"_contrib_count_sketch: number 1 of 'h'"):
        C.count_sketch(*sketch, out_dim=3).asnumpy()


def test_last_of_equal_indices_wins():
    old, new = nd.zeros((3, 1)), nd.array([[1], [2], [3]])
    out = C.index_copy(old, nd.array([2, 0, 2], dtype="int32"), new)
    assert out.asnumpy().ravel().tolist() == [2, 0, 3]


def test_allclose():
    a = nd.array([1, np.nan, np.inf])
    assert C.allclose(a, a).asscalar() == 1
    assert C.allclose(a, a, equal_nan=False).asscalar() == 0
    assert C.allclose(nd.array([1.0]), nd.array([1.1]), rtol=0.2).asscalar() == 1
    assert C.allclose(nd.array([np.inf]), nd.array([-np.inf]), rtol=1e9).asscalar() == 0


def test_histogram():
    values = nd.array([1, 2, 2, 5, 7, np.nan])
    counts, edges = nd.histogram(values, nd.array([0, 2, 5, 7]))
    assert counts.asnumpy().tolist() == [1, 2, 2] and edges.shape == (4,)
    rng = np.random.default_rng(4)
    x = rng.uniform(-3, 3, 1000)
    found = nd.histogram(nd.array(x, dtype="float64"), 37)
    wanted = np.histogram(x, 37)
    np.testing.assert_array_equal(found[0].asnumpy(), wanted[0])
    np.testing.assert_allclose(found[1].asnumpy(), wanted[1], 1e-12)
    same = nd.histogram(nd.array([2, 2]), 3)
    assert same[0].asnumpy().tolist() == [0, 2, 0] and same[1].asnumpy()[0] == 1.5
    symbol = mx.sym.histogram(mx.sym.var("a"), bins=3, range=(0, 6))
    out = symbol.bind(mx.cpu(), {"a": values}, grad_req="null").forward()
    assert out[0].asnumpy().tolist() == [1, 2, 1]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64", "float32", "float64"])
def test_histogram_counts_as_numpy(rng, dtype):
    """Every number in the range, on edges that are NumPy's."""
    low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if "int" in dtype else (-50, 50)
    low, high = max(low, -1000), min(high, 1000)
    x = rng.integers(low, high + 1, 1000).astype(dtype)
    ranges = [None, (low, high), (low, high + 1), (-3, 3.5), (0, 2), (0.1, 0.7), (5, 5)]
    for bins in (1, 3, 7, 10, 49, 256):
        for limits in ranges:
            found = nd.histogram(nd.array(x, dtype=dtype), bins, limits)
            given = limits or (x.min().item(), x.max().item())  # float32 may round otherwise
            wanted = np.histogram(x, bins, given)
            np.testing.assert_array_equal(found[0].asnumpy(), wanted[0])
            np.testing.assert_array_equal(found[1].asnumpy(), wanted[1])
            assert found[1].dtype == np.dtype(dtype if "float" in dtype else "float64")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("bins", [5, 10, 49, 93])
def test_histogram_of_its_own_edges(bins, dtype):
    for limits in ((0, 1), (-0.7, 2.3), (1, 1.1)):
        edges = np.histogram(np.zeros(1, dtype), bins, limits)[1]
        found = nd.histogram(nd.array(edges, dtype=dtype), bins, limits)
        np.testing.assert_array_equal(found[1].asnumpy(), edges)
        if len(set(edges)) == bins + 1:
            assert found[0].asnumpy().tolist() == [1] * (bins - 1) + [2]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: nd.histogram(nd.ones((2,)), 0), "bins must be at least 1"),
        (lambda: nd.histogram(nd.ones((2,)), 3, (5, 1)), "'range' takes two finite numbers"),
        (lambda: nd.histogram(nd.ones((2,)), 3, (0, np.inf)), "'range' takes two finite numbers"),
        (lambda: nd.histogram(nd.zeros((0,)), 3), "without elements"),
        (lambda: nd.histogram(nd.ones((2,)), nd.array([1, 0])), "'bins' must not fall; edge 1"),
        (lambda: nd.histogram(nd.ones((2,)), nd.array([1, 2]), (0, 1)), "range has no meaning"),
        (lambda: nd.histogram(nd.ones((2,)), "x"), "bins must be an int or an NDArray"),
        (lambda: mx.sym.histogram(mx.sym.var("a"), 3), "give a range"),
        (lambda: nd.moments(nd.ones((2,))), "'axes' must name at least one"),
        (lambda: nd.unravel_index(nd.ones((2,)), shape=(2, 0)), "'shape' takes lengths"),
        (lambda: nd.khatri_rao(nd.ones((2, 2)), nd.ones((2, 3))), "expected 2 columns"),
    ],
)
def test_refused(call, says):
    with pytest.raises(mx.MXNetError, match=says):
        for each in call():
            each.asnumpy()


def test_densities_outside_of_what_is_drawn():
    for name, x, parameters in (
        ("uniform", 5.0, (0, 1)),
        ("gamma", -1.0, (2, 1)),
        ("exponential", -1.0, (1,)),
        ("poisson", -1.0, (2,)),
    ):
        arrays = [nd.array([v]) for v in (x, *parameters)]
        for each in arrays:
            each.attach_grad()
        with ag.record():
            y = getattr(nd, f"random_pdf_{name}")(*arrays)
        y.backward()
        assert y.asscalar() == 0
        assert all(each.grad.asscalar() == 0 for each in arrays), name
    # no dispersion is a Poisson distribution
    sample, mu = nd.array([2.0]), nd.array([1.5])
    found = nd.random_pdf_generalized_negative_binomial(sample, mu, nd.zeros((1,)))
    np.testing.assert_allclose(found.asnumpy(), nd.random_pdf_poisson(sample, mu).asnumpy(), 1e-6)
