"""Pooling of many geometries against windows cut out in NumPy."""

import numpy as np
import pytest

import cynet as mx


def windows(x, kernel, stride, pad, full, count_pad, kind):
    """Pooling of (n, c, h, w) by looking at every window, in float64."""
    n, c, *size = x.shape
    out = []
    for length, k, s, p in zip(size, kernel, stride, pad):
        room = length + 2 * p - k
        out.append((-(-room // s) if full else room // s) + 1)
    y = np.zeros((n, c, *out))
    for i in range(out[0]):
        for j in range(out[1]):
            top, left = i * stride[0] - pad[0], j * stride[1] - pad[1]
            window = x[
                :,
                :,
                max(top, 0) : min(top + kernel[0], size[0]),
                max(left, 0) : min(left + kernel[1], size[1]),
            ].astype(np.float64)
            if kind == "max":
                y[:, :, i, j] = window.max((2, 3))
                continue
            total = window.sum((2, 3))
            high = min(top + kernel[0], size[0] + pad[0]) - top
            wide = min(left + kernel[1], size[1] + pad[1]) - left
            count = high * wide if count_pad else window.shape[2] * window.shape[3]
            y[:, :, i, j] = total / count if kind == "avg" else total
    return y


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
def test_random_geometries(kind, dtype):
    seed = np.random.randint(1 << 30)
    print("seed", seed)
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


def test_nan_and_infinity():
    x = np.zeros((1, 1, 4, 40), np.float32)
    x[0, 0, 1, 5], x[0, 0, 3, 20], x[0, 0, 2:, 30:32] = np.nan, np.inf, -np.inf
    y = mx.nd.Pooling(mx.nd.array(x), kernel=(2, 2), stride=(2, 2), pool_type="max").asnumpy()
    assert np.argwhere(np.isnan(y)).tolist() == [[0, 0, 0, 2]]
    assert y[0, 0, 1, 10] == np.inf
    assert y[0, 0, 1, 15] == -np.inf
    assert np.isfinite(y).sum() == y.size - 3
