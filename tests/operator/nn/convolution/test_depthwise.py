"""Convolution whose groups are single channels, over images smaller than its window."""

import numpy as np
import pytest

from tests.operator.nn.harness import Ready, turned, turned_back

# (data, window, stride, dilate, pad)
SHAPES = [
    ((4, 20, 2, 2), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((3, 33, 1, 1), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((2, 16, 1, 7), (3, 5), (1, 2), (1, 1), (1, 0)),
    ((5, 8, 2, 4), (5, 5), (2, 1), (1, 1), (2, 2)),
    ((1, 3, 3, 6), (7, 2), (1, 3), (1, 2), (3, 1)),
    ((2, 40, 9, 1), (3, 3), (2, 2), (1, 1), (1, 1)),  # larger than the loop takes
]


@pytest.mark.parametrize("req", [1, 3])
@pytest.mark.parametrize("shape, kernel, stride, dilate, pad", SHAPES)
def test_gradients(shape, kernel, stride, dilate, pad, req, monkeypatch):
    """Beside the loops of float64, which work in row-major order; req 3 adds to ones."""
    monkeypatch.setenv("CYNET_KERNELS", "auto")  # the portable ones are row-major
    params = {
        "num_filter": shape[1],
        "num_group": shape[1],
        "no_bias": True,
        "kernel": kernel,
        "stride": stride,
        "dilate": dilate,
        "pad": pad,
    }
    rng = np.random.RandomState(5)
    x, w = rng.standard_normal(shape), rng.standard_normal((shape[1], 1, *kernel))
    plain = Ready("Convolution", [x, w], params)
    out = plain.forward()
    dy = rng.standard_normal(out[0].shape)
    wanted = [*out, *plain.backward([dy], out)]

    run = Ready("Convolution", [turned(x.astype("float32")), w.astype("float32")], params)
    run.channels_last()
    out = run.forward()
    begin = np.nan if req == 1 else 1
    grads = [np.full_like(a, begin) for a in run.inputs]
    data, weight = run.backward([turned(dy.astype("float32"))], out, req, grads)
    found = [turned_back(out[0]), turned_back(data), weight]
    for got, want, added in zip(found, wanted, (0, req == 3, req == 3), strict=True):
        np.testing.assert_allclose(got, want + added, rtol=1e-4, atol=1e-5)
