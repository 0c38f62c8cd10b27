"""Convolutions on images as they lie against sums in float64, by level."""

import itertools

import numpy as np
import pytest
from cynet.kernels.conv.im2col import _run_implicit_gemm

from cynet.kernels.isa.dispatch import cpu_capabilities

SHAPES = [  # batch, groups, channels and filters of a group, size, kernel, stride, dilate, pad
    (2, 1, 7, 16, (1, 30, 30), (1, 5, 5), (1, 1, 1), (1, 1, 1), (0, 0, 0)),
    (1, 1, 3, 8, (1, 28, 28), (1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 1, 1)),
    (3, 2, 5, 9, (1, 9, 70), (1, 2, 4), (1, 1, 1), (1, 2, 3), (0, 1, 2)),
    (1, 1, 4, 17, (1, 1, 200), (1, 1, 7), (1, 1, 1), (1, 1, 1), (0, 0, 3)),  # one axis
    (2, 3, 2, 1, (5, 6, 7), (3, 2, 3), (1, 1, 1), (1, 1, 2), (1, 0, 1)),  # three
    (1, 1, 6, 5, (1, 13, 1), (1, 3, 1), (1, 1, 1), (1, 2, 1), (0, 2, 0)),  # rows of one pixel
    (1, 1, 2, 3, (1, 4, 3), (1, 4, 3), (1, 1, 1), (1, 1, 1), (0, 0, 0)),  # an output of one
    (4, 1, 1, 2, (1, 12, 12), (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 1, 1)),
    (1, 1, 9, 23, (2, 3, 47), (1, 1, 1), (1, 1, 1), (1, 1, 1), (0, 0, 0)),
    (1, 1, 2, 12, (1, 3, 6), (1, 3, 6), (1, 1, 1), (1, 1, 1), (0, 2, 5)),  # the pad alone
    (2, 1, 5, 9, (1, 30, 31), (1, 3, 3), (1, 2, 2), (1, 1, 1), (0, 1, 1)),
    (1, 2, 3, 17, (1, 23, 70), (1, 2, 5), (1, 3, 2), (1, 2, 3), (0, 1, 2)),
    (3, 1, 2, 4, (5, 9, 20), (2, 3, 3), (2, 1, 3), (1, 2, 1), (1, 0, 1)),
    (1, 1, 6, 8, (1, 14, 50), (1, 1, 1), (1, 2, 2), (1, 1, 1), (0, 0, 0)),
    (1, 1, 2, 3, (1, 5, 3), (1, 3, 3), (1, 4, 5), (1, 1, 1), (0, 0, 0)),  # beyond it
    (1, 1, 2, 3, (1, 5, 2), (1, 3, 3), (1, 2, 5), (1, 1, 1), (0, 1, 4)),  # phases of the pad
]


def draw(shape, seed):
    """x, w, y and bias."""
    print("seed", seed)
    rng = np.random.RandomState(seed)
    batch, groups, channels, filters, size, kernel, stride, dilate, pad = shape
    windows = [d * (k - 1) + 1 for d, k in zip(dilate, kernel)]
    out = [(n + 2 * p - k) // s + 1 for n, p, s, k in zip(size, pad, stride, windows)]
    shapes = [
        (batch, groups * channels, *size),
        (groups * filters, channels, *kernel),
        (batch, groups * filters, *out),
        (groups * filters,),
    ]
    return [rng.standard_normal(each).astype(np.float32) for each in shapes]


def convolved(x, w, out, groups, stride, dilate, pad):
    """Each tap's products, by slices of a padded array."""
    wide = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *((p, p) for p in pad)])
    channels, filters = w.shape[1], w.shape[0] // groups
    y = np.zeros(out)
    for tap in np.ndindex(*w.shape[2:]):
        seen = tuple(
            slice(t * d, t * d + s * (n - 1) + 1, s)
            for t, d, s, n in zip(tap, dilate, stride, out[2:])
        )
        for g in range(groups):
            part = wide[(slice(None), slice(g * channels, (g + 1) * channels), *seen)]
            rows = slice(g * filters, (g + 1) * filters)
            y[:, rows] += np.einsum("fc,nchwd->nfhwd", w[(rows, slice(None), *tap)], part)
    return y


@pytest.mark.parametrize("level", cpu_capabilities())
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_images_as_they_lie(shape, level):
    """Written and added, with a bias and without; threads change no bit."""
    x, w, y, bias = draw(shape, 1)
    groups, stride, dilate, pad = shape[1], *shape[6:]
    plain = convolved(x, w, y.shape, groups, stride, dilate, pad)
    for add, biased in itertools.product((False, True), repeat=2):
        wanted = plain + (y if add else 0)
        wanted = wanted + bias[:, None, None, None] if biased else wanted
        found = []
        for threads in (1, 2, 3, 8):
            got = y.copy() if add else np.full_like(y, np.nan)
            behind = _run_implicit_gemm(
                x, w, got, stride, dilate, pad, bias if biased else None, add, threads, level
            )
            assert len(behind) and (behind == 255).all(), "written behind the scratch"
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
            found.append(got.tobytes())
        assert found[1:] == found[:1] * 3


@pytest.mark.parametrize("filters", range(1, 18))
def test_all_numbers_of_filters_and_pixels(filters):
    for width in (5, 15, 16, 17, 31, 48, 49, 95, 97):
        shape = (1, 1, 3, filters, (1, 2, width), (1, 2, 3), (1, 1, 1), (1, 1, 1), (0, 1, 1))
        x, w, y, _ = draw(shape, width)
        for level in cpu_capabilities():
            got = np.full_like(y, np.nan)
            _run_implicit_gemm(x, w, got, (1, 1, 1), (1, 1, 1), (0, 1, 1), level=level)
            wanted = convolved(x, w, y.shape, 1, (1, 1, 1), (1, 1, 1), (0, 1, 1))
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_infinite_pixels_stay_in_their_windows():
    """Pixels between two rows of the output are computed, too, and not seen."""
    shape = (1, 1, 1, 2, (1, 6, 20), (1, 3, 3), (1, 1, 1), (1, 1, 1), (0, 0, 0))
    x, w, y, _ = draw(shape, 4)
    x[0, 0, 0, 2, 19] = np.inf
    _run_implicit_gemm(x, w, y, (1, 1, 1), (1, 1, 1), (0, 0, 0))
    reached = np.zeros((4, 18), bool)
    reached[:3, 17] = True
    np.testing.assert_array_equal(~np.isfinite(y[0, 1, 0]), reached)
