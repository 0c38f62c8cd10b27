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
