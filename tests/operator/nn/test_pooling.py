"""Pooling of many geometries against windows cut out in NumPy."""

import numpy as np
import pytest

import cynet as mx
from tests.operator.direct import Ready, turned, turned_back


def windows(x, kernel, stride, pad, full, count_pad, kind, power=2):
    """Pooling of (n, c, ...) by looking at every window, in float64."""
    n, c, *size = x.shape
    out = []
    for length, k, s, p in zip(size, kernel, stride, pad):
        room = length + 2 * p - k
        out.append((-(-room // s) if full else room // s) + 1)
    y = np.zeros((n, c, *out))
    for at in np.ndindex(*out):
        inside, count = window_at(at, size, kernel, stride, pad, count_pad)
        window = x[(..., *inside)].astype(np.float64).reshape(n, c, -1)
        if kind == "max":
            y[(..., *at)] = window.max(2)
        elif kind == "lp":
            y[(..., *at)] = (window**power).sum(2) ** (1 / power)
        else:
            y[(..., *at)] = window.sum(2) / (count if kind == "avg" else 1)
    return y


def window_at(at, size, kernel, stride, pad, count_pad):
    """Where the window of output `at` lies in the input, and what an average divides by."""
    begin = [i * s - p for i, s, p in zip(at, stride, pad)]
    end = [b + k for b, k in zip(begin, kernel)]
    inside = tuple(slice(max(b, 0), min(e, n)) for b, e, n in zip(begin, end, size))
    if count_pad:
        return inside, np.prod([min(e, n + p) - b for b, e, n, p in zip(begin, end, size, pad)])
    return inside, np.prod([s.stop - s.start for s in inside])


def cases(seed, number):
    """Random geometries whose windows all reach into the input."""
    draw = np.random.RandomState(seed)
    while number:
        kernel, stride = draw.randint(1, 6, 2), draw.randint(1, 5, 2)
        pad = [draw.randint(0, k) for k in kernel]
        size = draw.randint(1, 40, 2)
        if any(length + 2 * p < k for length, k, p in zip(size, kernel, pad)):
            continue
        last = [-(-(n + 2 * p - k) // s) * s - p for n, k, s, p in zip(size, kernel, stride, pad)]
        if any(begin >= n for begin, n in zip(last, size)):
            continue
        number -= 1
        shape = (2, 3, *map(int, size))
        yield shape, tuple(map(int, kernel)), tuple(map(int, stride)), tuple(map(int, pad)), draw


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
def test_random_geometries(kind, dtype, seed):
    for shape, kernel, stride, pad, draw in cases(seed, 60):
        x = draw.standard_normal(shape).astype(dtype)
        full, count_pad = bool(draw.randint(2)), bool(draw.randint(2))
        got = mx.nd.Pooling(
            mx.nd.array(x, dtype=dtype),
            kernel=kernel,
            stride=stride,
            pad=pad,
            pool_type=kind,
            pooling_convention="full" if full else "valid",
            count_include_pad=count_pad,
        ).asnumpy()
        expected = windows(x, kernel, stride, pad, full, count_pad, kind)
        about = f"{shape} kernel {kernel} stride {stride} pad {pad} full {full} pads {count_pad}"
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5, err_msg=about)


def test_wide_rows_go_in_parts():
    x = np.random.RandomState(0).standard_normal((1, 1, 3, 9001)).astype(np.float32)
    for kernel, stride in (((2, 2), (1, 2)), ((3, 3), (1, 1)), ((1, 5), (1, 3))):
        got = mx.nd.Pooling(mx.nd.array(x), kernel=kernel, stride=stride, pool_type="max")
        expected = windows(x, kernel, stride, (0, 0), False, True, "max")
        np.testing.assert_array_equal(got.asnumpy(), expected.astype(np.float32))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [(1,), (15,), (16,), (700,), (3, 5), (69, 69), (4, 7, 31)])
def test_a_window_of_the_whole_plane(size, dtype):
    """Of planes shorter and longer than a vector; each number counts, and a NaN anywhere shows."""
    rng = np.random.RandomState(8)
    x = rng.randn(2, 3, *size).astype(dtype)
    axes = tuple(range(2, x.ndim))
    for kind, wanted in (("avg", x.mean(axes)), ("sum", x.sum(axes)), ("max", x.max(axes))):
        given = mx.nd.array(x, dtype=dtype)
        for options in ({"global_pool": True}, {"kernel": size}):
            got = mx.nd.Pooling(given, pool_type=kind, **options).asnumpy()
            assert got.shape == (2, 3) + (1,) * len(size)
            np.testing.assert_allclose(got.reshape(2, 3), wanted, rtol=1e-5, atol=1e-4)
    x[0, 1].reshape(-1)[rng.randint(x[0, 1].size)] = np.nan
    got = mx.nd.Pooling(mx.nd.array(x, dtype=dtype), pool_type="max", global_pool=True)
    np.testing.assert_allclose(got.asnumpy().reshape(2, 3), x.max(axes))


def test_nan_and_infinity():
    x = np.zeros((1, 1, 4, 40), np.float32)
    x[0, 0, 1, 5], x[0, 0, 3, 20], x[0, 0, 2:, 30:32] = np.nan, np.inf, -np.inf
    y = mx.nd.Pooling(mx.nd.array(x), kernel=(2, 2), stride=(2, 2), pool_type="max").asnumpy()
    assert np.argwhere(np.isnan(y)).tolist() == [[0, 0, 0, 2]]
    assert y[0, 0, 1, 10] == np.inf
    assert y[0, 0, 1, 15] == -np.inf
    assert np.isfinite(y).sum() == y.size - 3


def gradient(x, grad, kernel, stride, pad, count_pad, kind, power=2):
    """What windows hand on to their elements: the first NaN, or else maximum, gets all."""
    dx = np.zeros(x.shape)
    for at in np.ndindex(grad.shape):
        inside, count = window_at(at[2:], x.shape[2:], kernel, stride, pad, count_pad)
        window = x[at[:2]][inside]
        part = dx[at[:2]][inside]
        if kind == "max":
            nan = np.isnan(window).ravel()
            first = nan.argmax() if nan.any() else window.argmax()
            part[np.unravel_index(first, window.shape)] += grad[at]
        elif kind == "lp":
            root = (window.astype(np.float64) ** power).sum() ** (1 / power)
            part += grad[at] if power == 1 else grad[at] * (window / (root or 1)) ** (power - 1)
        else:
            part += grad[at] / count if kind == "avg" else grad[at]
    return dx


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(
    "kind, power", [("max", 2), ("avg", 2), ("sum", 2)] + [("lp", power) for power in (1, 2, 3)]
)
def test_lines_planes_and_volumes(rng, kind, power, axes, dtype):
    """Every kind, forward and backward, written and added; lp also of windows of zeros."""
    for full in (False, True):
        for kernel, stride, pad in (
            ((2, 3, 2), (2, 1, 2), (0, 1, 0)),
            ((3, 2, 3), (1, 2, 2), (1, 0, 1)),
            ((2, 2, 2), (2, 2, 2), (0, 0, 0)),
        ):
            kernel, stride, pad = kernel[-axes:], stride[-axes:], pad[-axes:]
            x = rng.integers(0, 4, (2, 2, *(5, 4, 6)[-axes:])).astype(dtype)
            x[..., :3] *= kind != "lp"
            count_pad = bool(rng.integers(2))
            params = {"pool_type": kind, "kernel": kernel, "stride": stride, "pad": pad}
            params["pooling_convention"] = "full" if full else "valid"
            params |= {"count_include_pad": count_pad} if kind == "avg" else {}
            params |= {"p_value": power} if kind == "lp" else {}
            op = Ready("Pooling", [x], params)
            given = kernel, stride, pad
            want = windows(x, *given, full, count_pad, kind, power)
            grad = rng.standard_normal(want.shape).astype(dtype)
            want_grad = gradient(x, grad, *given, count_pad, kind, power)
            out = op.forward()
            for req, begin, base in ((1, np.nan, 0), (3, 2, 2)):
                got = op.forward(req, op.blank(begin))[0]
                np.testing.assert_allclose(got, want + base, rtol=1e-5, err_msg=str(params))
                got = op.backward([grad], out, req, [np.full_like(x, begin)])[0]
                np.testing.assert_allclose(got, want_grad + base, 1e-5, 1e-5, err_msg=str(params))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
def test_gradients_of_random_geometries(kind, dtype, seed):
    """Of few values, so that many are equal, with NaN and infinities; written and added."""
    for number, (shape, kernel, stride, pad, draw) in enumerate(cases(seed, 40)):
        if number % 4 == 0:  # windows side by side
            stride, pad = kernel, (0, 0)
            shape = (2, 3, *(-(-n // k) * k for n, k in zip(shape[2:], kernel)))
        x = draw.randint(0, 4, shape).astype(dtype)
        if kind == "max":
            odd = draw.choice([np.nan, np.inf, -np.inf], shape)
            x = np.where(draw.rand(*shape) < draw.choice([0, 0.05, 0.5]), odd, x).astype(dtype)
        count_pad, full = bool(draw.randint(2)), bool(draw.randint(2))
        params = {"pool_type": kind, "kernel": kernel, "stride": stride, "pad": pad}
        params["pooling_convention"] = "full" if full else "valid"
        params["count_include_pad"] = count_pad
        op = Ready("Pooling", [x], params)
        out = op.forward()
        grad = draw.standard_normal(out[0].shape).astype(dtype)
        want = gradient(x, grad, kernel, stride, pad, count_pad, kind)
        about = f"{shape} {params}"
        for req, begin in ((1, np.nan), (3, 2)):
            got = op.backward([grad], out, req, [np.full_like(x, begin)])[0]
            expected = want + (2 if req == 3 else 0)
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=2e-5, err_msg=about)


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_gradients_of_wide_rows_and_of_volumes(kind):
    rng = np.random.RandomState(1)
    for size, kernel, stride in (
        ((3, 5001), (2, 2), (1, 2)),
        ((3, 5000), (3, 3), (1, 1)),
        ((1, 4500), (1, 5), (1, 3)),
        ((2, 4501), (2, 7), (1, 2)),
        ((5, 6, 21), (2, 3, 3), (2, 2, 2)),
        ((4, 4, 36), (2, 2, 2), (2, 2, 2)),
    ):
        x = rng.randint(0, 9, (1, 2, *size)).astype(np.float32)
        op = Ready("Pooling", [x], {"pool_type": kind, "kernel": kernel, "stride": stride})
        out = op.forward()
        grad = rng.standard_normal(out[0].shape).astype(np.float32)
        want = gradient(x, grad, kernel, stride, (0,) * len(size), True, kind)
        got = op.backward([grad], out)[0]
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=str(size))


@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
def test_channels_last(kind, seed):
    """Numbers of channels around those that vectors take; windows of all kinds."""
    draw = np.random.RandomState(seed)
    for channels in (1, 3, 4, 15, 16, 17, 20, 33, 50):
        for size, kernel, stride, pad in (
            ((6, 8), (2, 2), (2, 2), (0, 0)),
            ((7, 9), (3, 3), (2, 2), (1, 1)),
            ((6, 9), (3, 3), (3, 3), (0, 0)),
            ((5, 6), (3, 3), (1, 1), (1, 1)),
            ((4, 6), (4, 2), (4, 2), (0, 0)),
            ((5, 5), (2, 3), (1, 2), (0, 1)),
        ):
            x = draw.randint(0, 4, (2, channels, *size)).astype(np.float32)
            if kind == "max":
                odd = draw.choice([np.nan, np.inf, -np.inf], x.shape)
                x = np.where(draw.rand(*x.shape) < 0.1, odd, x).astype(np.float32)
            params = {"pool_type": kind, "kernel": kernel, "stride": stride, "pad": pad}
            op = Ready("Pooling", [turned(x)], params)
            op.channels_last()
            about = f"{x.shape} {params}"
            for req, begin, base in ((1, np.nan, 0), (3, 2, 2)):
                out = op.forward(req, op.blank(begin))
                want = windows(x, kernel, stride, pad, False, True, kind) + base
                got = turned_back(out[0])
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5, err_msg=about)
                grad = draw.standard_normal(want.shape).astype(np.float32)
                want = gradient(x, grad, kernel, stride, pad, True, kind) + base
                got = op.backward([turned(grad)], out, req, [np.full_like(x, begin)])[0]
                got = turned_back(got)
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-5, err_msg=about)


@pytest.mark.parametrize(
    "extra", [{"pad": (1, 1, 1)}, {"pad": (1, 2)}, {"pad": (1, 9), "stride": (1, 5)}]
)
@pytest.mark.parametrize(
    "kind, expected",
    [
        ("max", [0, 1, 2, 3, 4, 5, 6, 7, 7]),
        ("avg", [0, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 3.5]),
        ("sum", [0, 1, 3, 5, 7, 9, 11, 13, 7]),
    ],
)
def test_more_pads_than_axes(kind, expected, extra):
    """MXNet 1.9.1 reads as many numbers of pad and stride as there are axes."""
    x = mx.nd.arange(8).reshape((1, 1, 8))
    out = mx.nd.Pooling(x, kernel=(2,), pool_type=kind, **extra)
    np.testing.assert_array_equal(out.asnumpy().ravel(), expected)
    image = mx.nd.ones((1, 1, 4, 4))
    assert mx.nd.Pooling(image, kernel=(2, 2), pad=(1, 1, 1), pool_type=kind).shape == (1, 1, 5, 5)
    with pytest.raises(mx.MXNetError, match="pad"):
        mx.nd.Pooling(image, kernel=(2, 2), pad=(1,), pool_type=kind)
