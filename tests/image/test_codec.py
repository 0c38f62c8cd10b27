"""Decoding: what the heads of files say before memory is taken."""

import struct
import zlib

import numpy as np
import pytest

import cynet as mx
from cynet.base.opencv import cv


def chunk(kind, content, length=None):
    length = len(content) if length is None else length
    return (
        struct.pack(">I", length) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    )


@pytest.mark.parametrize("kind", [b"eXIf", b"iCCP", b"tEXt", b"IDAT", b"abcd"])
def test_png_that_says_that_gigabytes_follow(kind):
    """OpenCV takes that much memory."""
    picture = cv().imencode(".png", np.zeros((4, 4, 3), np.uint8))[1].tobytes()
    damaged = picture[:33] + chunk(kind, b"MM\0*", 0xFFFF0000) + picture[33:]
    for flag in (-1, 0, 1):
        with pytest.raises(mx.errors.FormatError, match="says that 4294901760 bytes follow"):
            mx.image.imdecode(damaged, flag)
    assert mx.image.imdecode(picture[:33] + chunk(b"tEXt", b"a\0b") + picture[33:]).shape == (
        4,
        4,
        3,
    )


def test_sixteen_bits(rng, capfd):
    """PNG keeps them, JPEG has the upper 8; a quality of JPEG is no warning of PNG."""
    image = rng.integers(0, 1 << 16, (9, 7, 3)).astype(np.uint16)
    header = mx.recordio.IRHeader(0, 1.0, 2, 0)
    record = mx.recordio.pack_img(header, image, 95, ".png")
    assert np.array_equal(mx.recordio.unpack_img(record)[1], image)
    smooth = np.full((8, 8, 3), 200 << 8, np.uint16)
    _, found = mx.recordio.unpack_img(mx.recordio.pack_img(header, smooth, 95, ".jpg"))
    assert found.dtype == np.uint8 and np.abs(found.astype(int) - 200).max() <= 2
    with pytest.raises(mx.errors.ShapeError, match="of uint8 or uint16, got .* float32"):
        mx.recordio.pack_img(header, image.astype("float32"))
    assert not capfd.readouterr().err


@pytest.mark.parametrize("flag, to_rgb", [(1, True), (1, False), (0, True), (-1, True)])
def test_an_opencv_that_reads_no_rgb(flag, to_rgb, rng, monkeypatch):
    """Before 4.11 it has no flag for it: the pixels are the same."""
    picture = rng.integers(0, 256, (6, 5, 3)).astype(np.uint8)
    content = cv().imencode(".png", picture)[1].tobytes()
    expected = picture[:, :, ::-1] if to_rgb and flag == 1 else picture
    monkeypatch.delattr(cv(), "IMREAD_COLOR_RGB", raising=False)
    found = mx.image.imdecode(content, flag=flag, to_rgb=to_rgb).asnumpy()
    if flag == 0:
        assert found.shape == (6, 5, 1)
    else:
        np.testing.assert_array_equal(found, expected)
