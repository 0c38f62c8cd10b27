"""im2col and col2im of lines that are summed in parts, against additions one by one in NumPy."""

import numpy as np
import pytest

from cynet import nd


def places(n, kernel, stride, pad, dilate):
    """(windows, kernel): which element each tap of each window reads."""
    count = (n + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1
    return np.arange(count)[:, None] * stride - pad + np.arange(kernel) * dilate


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "n, kernel, stride, pad, dilate",
    [
        (512, 3, 1, 1, 1),
        (513, 3, 1, 2, 1),
        (1030, 5, 2, 0, 3),
        (1500, 4, 7, 3, 200),
        (600, 1, 3, 0, 1),
    ],
)
def test_long_lines(n, kernel, stride, pad, dilate, dtype, rng):
    params = {"kernel": (2, kernel), "stride": (1, stride), "pad": (0, pad), "dilate": (1, dilate)}
    at = places(n, kernel, stride, pad, dilate)
    inside = (at >= 0) & (at < n)
    columns = rng.standard_normal((2, 3 * 2 * kernel, 3 * len(at))).astype(dtype)
    got = nd.col2im(nd.array(columns, dtype=dtype), output_size=(4, n), **params).asnumpy()
    expected = np.zeros((2, 3, 4, n))
    parts = columns.reshape(2, 3, 2, kernel, 3, len(at))
    for row in range(3):
        for tap in range(2):
            for k in range(kernel):
                there = inside[:, k]
                expected[:, :, row + tap, at[there, k]] += parts[:, :, tap, k, row, there]
    np.testing.assert_allclose(got, expected, 1e-6 if dtype == "float32" else 1e-12, 1e-6)
    image = rng.standard_normal((2, 3, 4, n)).astype(dtype)
    taken = nd.im2col(nd.array(image, dtype=dtype), **params).asnumpy().reshape(parts.shape)
    for row, tap, k in np.ndindex(3, 2, kernel):
        values = np.where(inside[:, k], image[:, :, row + tap, np.clip(at[:, k], 0, n - 1)], 0)
        np.testing.assert_array_equal(taken[:, :, tap, k, row], values)
