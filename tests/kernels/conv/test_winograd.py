"""Winograd convolutions against direct sums in float64, in each form."""

import numpy as np
import pytest
from cynet.kernels.conv.winograd import _run_winograd, _winograd_forms

from tests.pairs import pairwise

FORMS = _winograd_forms()
# Of the largest number of a result. A direct sum in float32 is at 1e-6 with 64 channels.
TOLERANCE = 1e-5
SHAPES = [
    # batch, height, width, channels, filters, kernel, pad_h, pad_w, stride (1 where it is not said)
    (2, 8, 8, 16, 16, 3, 1, 1),
    (1, 32, 32, 16, 32, 3, 1, 1),
    (3, 7, 9, 16, 48, 3, 1, 1),
    (1, 6, 6, 32, 16, 3, 0, 0),
    (2, 5, 11, 64, 16, 3, 0, 1),
    (1, 1, 1, 16, 16, 3, 1, 1),
    (2, 1, 5, 8, 8, 3, 1, 1),
    (1, 2, 3, 16, 16, 3, 1, 0),
    (4, 3, 3, 16, 16, 3, 0, 0),
    (1, 3, 3, 16, 16, 3, 2, 2),
    (2, 4, 4, 16, 16, 3, 3, 1),
    (1, 13, 4, 3, 5, 3, 1, 1),
    (2, 9, 6, 1, 1, 3, 1, 1),
    (1, 10, 10, 20, 33, 3, 1, 1),
    (5, 4, 4, 17, 31, 3, 1, 1),
    (1, 7, 7, 96, 16, 3, 1, 1),
    (1, 8, 5, 272, 20, 3, 1, 1),
    (1, 6, 7, 64, 145, 3, 1, 1),  # more filters, and more tiles, than are worked on at a time
    (3, 18, 33, 12, 17, 3, 1, 1),
    (2, 5, 6, 150, 64, 4, 1, 1, 2),
    (9, 6, 6, 20, 21, 3, 0, 0),  # from 8 images on dx is spread from dy's tiles where those are few
    (8, 7, 5, 16, 16, 3, 1, 0),
    (2, 12, 12, 20, 50, 5, 0, 0),
    (1, 15, 9, 16, 32, 5, 2, 2),
    (3, 7, 8, 16, 48, 5, 2, 0),
    (1, 5, 5, 32, 16, 5, 0, 0),
    (1, 1, 1, 16, 16, 5, 2, 2),
    (2, 1, 6, 8, 8, 5, 2, 1),
    (1, 2, 3, 16, 16, 5, 3, 4),
    (2, 3, 4, 16, 16, 5, 5, 1),
    (1, 9, 4, 3, 5, 5, 1, 1),
    (2, 6, 7, 1, 1, 5, 2, 2),
    (5, 5, 4, 17, 31, 5, 2, 2),
    (1, 6, 5, 272, 20, 5, 2, 2),
    (9, 8, 7, 20, 29, 5, 0, 0),
    (8, 9, 5, 5, 16, 5, 1, 0),
    (11, 6, 6, 33, 18, 5, 0, 1),
    (2, 9, 8, 16, 32, 2, 0, 0),
    (1, 5, 6, 20, 17, 2, 1, 1),
    (9, 4, 4, 16, 16, 2, 0, 1),
    (1, 1, 1, 5, 3, 2, 1, 1),
    (2, 8, 8, 16, 32, 4, 1, 1),
    (1, 7, 9, 20, 17, 4, 2, 0),
    (9, 6, 5, 3, 16, 4, 0, 3),
    (2, 8, 8, 16, 32, 4, 1, 1, 2),
    (1, 9, 7, 20, 17, 4, 1, 0, 2),
    (9, 11, 6, 16, 16, 4, 0, 2, 2),
    (1, 4, 4, 33, 18, 4, 0, 0, 2),
    (1, 1, 2, 3, 5, 4, 3, 4, 2),
    (2, 8, 9, 16, 32, 3, 1, 1, 2),
    (3, 7, 7, 17, 31, 3, 0, 2, 2),
    (1, 3, 4, 1, 1, 3, 0, 0, 2),
    (2, 16, 12, 16, 32, 5, 2, 2, 2),
    (1, 9, 8, 20, 33, 5, 0, 1, 2),
    (8, 6, 7, 272, 20, 5, 2, 2, 2),
    (2, 13, 10, 16, 16, 6, 2, 3, 2),
    (1, 15, 14, 3, 16, 7, 3, 3, 2),
    (2, 9, 20, 18, 5, 8, 0, 1, 2),
]


def geometry(shape):
    """(pads, stride) of a row of SHAPES."""
    return shape[6:8], shape[8] if len(shape) > 8 else 1


def draw(shape, seed):
    n, h, w, c, f, k, ph, pw = shape[:8]
    stride = geometry(shape)[1]
    rng = np.random.RandomState(seed)
    print("seed", seed)
    x = rng.standard_normal((n, h, w, c)).astype(np.float32)
    weight = (rng.standard_normal((f, c, k, k)) / (k * k * c) ** 0.5).astype(np.float32)
    size = ((h + 2 * ph - k) // stride + 1, (w + 2 * pw - k) // stride + 1)
    y = rng.standard_normal((n, *size, f)).astype(np.float32)
    return x, weight, y, rng.standard_normal(f).astype(np.float32)


def windows(x, w, pad, shape, stride):
    """(i, j, the pixels that tap (i, j) of w sees) of x in float64."""
    padded = np.pad(x.astype(np.float64), [(0, 0), (pad[0],) * 2, (pad[1],) * 2, (0, 0)])
    for i, j in np.ndindex(w.shape[2:]):
        seen = padded[:, i::stride, j::stride]
        yield i, j, seen[:, : shape[1], : shape[2]]


def run(*args, **options):
    behind = _run_winograd(*args, **options)
    assert len(behind) and (behind == 255).all(), "written behind the scratch"


def forward(x, w, y, pad, stride=1):
    seen = windows(x, w, pad, y.shape, stride)
    return sum(pixels @ w[:, :, i, j].T.astype(np.float64) for i, j, pixels in seen)


def backward_data(x, w, y, pad, stride=1):
    n, h, width, c = x.shape
    dx = np.zeros((n, h + 2 * pad[0], width + 2 * pad[1], c))
    for i, j in np.ndindex(w.shape[2:]):
        met = dx[:, i : i + stride * y.shape[1] : stride, j : j + stride * y.shape[2] : stride]
        met += y @ w[:, :, i, j].astype(np.float64)
    return dx[:, pad[0] : pad[0] + h, pad[1] : pad[1] + width]


def backward_weight(x, w, y, pad, stride=1):
    dw = np.zeros(w.shape)
    for i, j, seen in windows(x, w, pad, y.shape, stride):
        dw[:, :, i, j] = np.einsum("nhwf,nhwc->fc", y.astype(np.float64), seen)
    return dw


def close(ours, wanted):
    assert np.isfinite(ours).all()
    error = np.abs(ours - wanted).max() / np.abs(wanted).max()
    assert error < TOLERANCE, error


@pytest.mark.parametrize("shape, threads, form", pairwise(SHAPES, [1, 2, 3], list(FORMS)), ids=str)
def test_against_direct_sums(shape, threads, form):
    x, w, y, _ = draw(shape, 1)
    pad, stride = geometry(shape)
    out = forward(x, w, y, pad, stride)
    for what, wanted in (
        ("forward", out),
        ("packed", out),
        ("backward_data", backward_data(x, w, y, pad, stride)),
        ("backward_weight", backward_weight(x, w, y, pad, stride)),
    ):
        index = {"backward_data": 0, "backward_weight": 1}.get(what, 2)
        for add in (False, True):
            arrays = [x.copy(), w.copy(), y.copy()]
            before = arrays[index].copy()
            if not add:
                arrays[index][...] = np.nan
            how = {"threads": threads, "form": FORMS[form], "stride": stride}
            run(what, *arrays, pad, add=add, **how)
            close(arrays[index], wanted + before if add else wanted)
            for i in {0, 1, 2} - {index}:
                np.testing.assert_array_equal(arrays[i], (x, w, y)[i])


BIASED = [
    (2, 8, 8, 16, 32, 3, 1, 1),
    (1, 7, 5, 6, 21, 3, 1, 0),
    (2, 8, 8, 16, 32, 5, 2, 2),
    (1, 7, 6, 6, 21, 5, 1, 0),
    (2, 8, 8, 16, 32, 2, 1, 1),
    (1, 9, 8, 6, 21, 4, 1, 1, 2),
]


@pytest.mark.parametrize(
    "shape, form, add, relu", pairwise(BIASED, list(FORMS), [False, True], [False, True]), ids=str
)
def test_bias_sum_and_relu(shape, form, add, relu):
    x, w, y, bias = draw(shape, 2)
    pad, stride = geometry(shape)
    wanted = forward(x, w, y, pad, stride) + bias + (y if add else 0)
    how = {"form": FORMS[form], "stride": stride}
    run("forward", x, w, y, pad, bias=bias, relu=relu, add=add, **how)
    close(y, np.maximum(wanted, 0) if relu else wanted)


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
@pytest.mark.parametrize(
    "shape",
    [
        *((3, 18, 14, 32, 48, 3, 1, 1), (3, 14, 13, 32, 48, 5, 2, 2), (9, 12, 12, 20, 50, 5, 0, 0)),
        *((3, 18, 14, 32, 48, 4, 1, 1, 2), (3, 13, 20, 20, 48, 5, 2, 2, 2)),
    ],
    ids=str,
)
def test_same_whatever_the_threads(shape, form):
    """Forward and the gradient of x do not depend on how many; that of w does not change by run."""
    x, w, y, _ = draw(shape, 3)
    pad, stride = geometry(shape)
    for what, index in (("forward", 2), ("backward_data", 0), ("backward_weight", 1)):
        results = []
        for threads in (1, 2, 3, 3):
            arrays = [x.copy(), w.copy(), y.copy()]
            run(what, *arrays, pad, threads=threads, form=form, stride=stride)
            results.append(arrays[index])
        np.testing.assert_array_equal(results[2], results[3])
        if what != "backward_weight":
            np.testing.assert_array_equal(results[0], results[1])
            np.testing.assert_array_equal(results[0], results[2])


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
@pytest.mark.parametrize("kernel, tile", [(3, 4), (5, 2)])
def test_nan_and_infinity_stay_near(kernel, tile, form):
    """What is not finite spoils the tiles that see it, which a direct sum would leave in part."""
    pad = kernel // 2
    x, w, y, _ = draw((2, 16, 16, 16, 16, kernel, pad, pad), 4)
    x[0, 2, 2, 5] = np.nan
    run("forward", x, w, y, (pad, pad), relu=True, form=form)
    near = slice(2 - pad, 3 + pad)
    assert np.isnan(y[0, near, near]).all()
    behind = -(-(3 + pad) // tile) * tile
    assert np.isfinite(y[0, behind:]).all() and np.isfinite(y[1]).all()


@pytest.mark.parametrize(
    "size, channels, kernel, stride",
    [
        *((16, 512, 3, 1), (64, 64, 3, 1), (8, 300, 5, 1), (28, 48, 5, 1), (20, 100, 4, 1)),
        *((8, 256, 4, 2), (64, 48, 4, 2), (16, 200, 5, 2)),
    ],
)
def test_large(size, channels, kernel, stride):
    """Many blocks of tiles, of filters in chunks, of channels."""
    pad = (kernel // 2,) * 2
    shape = (1, size, size, channels, channels, kernel, *pad, stride)
    x, w, y, _ = draw(shape, 5)
    dy, options = y.copy(), {"threads": 2, "stride": stride}
    run("forward", x, w, y, pad, **options)
    close(y, forward(x, w, y, pad, stride))
    dx, dw = np.empty_like(x), np.empty_like(w)
    run("backward_data", dx, w, dy, pad, **options)
    close(dx, backward_data(x, w, dy, pad, stride))
    run("backward_weight", x, dw, dy, pad, **options)
    close(dw, backward_weight(x, w, dy, pad, stride))
