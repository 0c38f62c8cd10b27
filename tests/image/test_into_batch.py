"""Pixels into a batch: every width, channel, direction and dtype, against NumPy."""

import numpy as np
import pytest
from cynet.image.into_batch import clip_pixels, normalize_into, writable_view

import cynet as mx

WIDTHS = [1, 2, 3, 15, 16, 17, 31, 33, 64, 127, 128, 129, 256, 300]


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("mirrored", [False, True])
def test_values(channels, mirrored, seed):
    rng = np.random.default_rng(seed)
    for width in WIDTHS:
        whole = rng.integers(0, 256, (7, width + 5, channels), dtype=np.uint8)
        for image in (
            whole[:, :width],
            whole[1:4, 3 : 3 + width],
            whole[:, :width][:, ::-1],
            whole[::2, :width],
            whole[::-1, :width],
        ):
            turned = (image[:, ::-1] if mirrored else image).transpose(2, 0, 1)
            mean, factor = rng.normal(size=(2, channels)).astype(np.float32)
            out = np.full(turned.shape, np.nan, np.float32)
            normalize_into(image, mirrored, mean, factor, out)
            wanted = turned.astype(np.float32)
            wanted = (wanted - mean[:, None, None]) * factor[:, None, None]
            assert np.array_equal(out, wanted)
            for most in (255, 127):
                plain = np.zeros(turned.shape, np.uint8)
                clip_pixels(image, mirrored, most, plain)
                assert np.array_equal(plain, np.minimum(turned, most))


def test_refused():
    image, numbers = np.zeros((4, 5, 3), np.uint8), np.zeros(3, np.float32)
    out = np.zeros((3, 4, 5), np.float32)
    for bad in (image[:, :4], image[:3], image[:, :, :2], image[:, ::2], np.zeros((4, 5, 2), "u1")):
        with pytest.raises(mx.errors.ShapeError, match="does not fill"):
            normalize_into(bad, False, numbers, numbers, out)
        with pytest.raises(mx.errors.ShapeError, match="does not fill"):
            clip_pixels(bad, False, 255, np.zeros(out.shape, np.uint8))
    with pytest.raises(mx.errors.ShapeError, match="side by side"):
        normalize_into(np.zeros((3, 4, 5), "u1").transpose(1, 2, 0), False, numbers, numbers, out)
    with pytest.raises(mx.errors.ShapeError, match="one number for each of 3"):
        normalize_into(image, False, numbers[:1], numbers, out)
    with pytest.raises(ValueError, match="float32, uint8 or int8"):
        writable_view(mx.nd.zeros((1, 1, 1, 1), dtype="float64"))


def test_memory_of_an_array():
    for dtype in ("float32", "uint8", "int8"):
        array = mx.nd.zeros((2, 3, 4, 5), dtype=dtype)
        writable_view(array)[1, 2, 3] = [1, 2, 3, 4, 5]
        assert array.asnumpy()[1, 2, 3].tolist() == [1, 2, 3, 4, 5] and array.asnumpy().sum() == 15
