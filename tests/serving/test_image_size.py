"""Sizes of images by the bytes of their files, each form built here: every bit of a size counts."""

import struct

import pytest

from cynet.base.errors import FormatError
from cynet.serving.image_size import read_image_size


def png(width, height):
    return b"\x89PNG\r\n\x1a\n" + b"\x00\x00\x00\x0dIHDR" + struct.pack(">II", width, height)


def bmp(width, height, header=40):
    return b"BM" + bytes(12) + struct.pack("<Iii", header, width, height)


def extended(width, height):
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF1234WEBPVP8X" + b"\x0a\x00\x00\x00" + b"\xff\x00\x00\x00" + sizes


def lossless(width, height, rest=0b1111):
    bits = (width - 1) | (height - 1) << 14 | rest << 28
    return b"RIFF1234WEBPVP8L" + b"\x05\x00\x00\x00" + b"\x2f" + struct.pack("<I", bits)


def lossy(width, height, scale=0b11):
    sizes = struct.pack("<HH", width | scale << 14, height | scale << 14)
    return b"RIFF1234WEBPVP8 " + bytes(4) + b"\x00\x00\x00\x9d\x01\x2a" + sizes


def segment(kind, data=b""):
    return bytes([0xFF, kind]) + struct.pack(">H", len(data) + 2) + data


def frame(width, height, kind=0xC0):
    return segment(kind, b"\x08" + struct.pack(">HH", height, width) + b"\x03" + bytes(9))


def jpeg(width, height, *before, kind=0xC0):
    return b"\xff\xd8" + b"".join(before or [segment(0xE0)]) + frame(width, height, kind)


FORMS = {
    "png": (png, 32),
    "bmp": (bmp, 31),
    "extended": (extended, 24),
    "lossless": (lossless, 14),
    "lossy": (lossy, 14),
    "jpeg": (jpeg, 16),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_bit_of_a_size(form):
    make, bits = FORMS[form]
    top = (1 << bits) - 1
    for one in [1, 7, *(1 << i for i in range(bits)), top]:
        for width, height in ((one, 3), (3, one), (one, one)):
            assert read_image_size(make(width, height)) == (height, width)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_cut_off(form):
    """As long as it takes, and not a byte less."""
    body = FORMS[form][0](0x1234, 0x0567)
    needed = {"png": 21, "bmp": 23, "extended": 30, "lossless": 25, "lossy": 30, "jpeg": 15}[form]
    for end in range(len(body) + 1):
        if end >= needed and form not in ("png", "bmp"):
            assert read_image_size(body[:end]) == (0x0567, 0x1234)
        elif end < needed:
            with pytest.raises(FormatError, match="first bytes|says how large|does not say"):
                read_image_size(body[:end])
    assert read_image_size(body) == (0x0567, 0x1234)


@pytest.mark.parametrize("kind", range(0xC0, 0xD0))
def test_frames_of_a_jpeg(kind):
    """Huffman tables (C4), arithmetic coding (CC) and C8 are none, and are passed over."""
    body = jpeg(40, 30, kind=kind)
    if kind in (0xC4, 0xC8, 0xCC):
        with pytest.raises(FormatError, match="a JPEG that does not say how large it is"):
            read_image_size(body)
        assert read_image_size(body + frame(7, 5)) == (5, 7)
    else:
        assert read_image_size(body) == (30, 40)


@pytest.mark.parametrize(
    "before",
    [
        [segment(0xE0, bytes(14)), segment(0xFE, b"\xff\xc0 in a comment \xff")],
        [b"\xff\x01", segment(0xE1, b"x")],
        *([[bytes([0xFF, kind]), segment(0xDB, bytes(64))] for kind in range(0xD0, 0xD8)]),
        [b"\xff" * 5 + segment(0xE0)[1:]],
        [segment(0xE0)[:2] + b"\x00\x00"],  # a length that is less than its own two bytes
        [segment(0xE0)[:2] + b"\x00\x01"],
        [segment(0xBF), segment(0xD8, b"ab"), segment(0xD9, b"a")],
        [segment(0xE0, bytes(0x1234))],
    ],
    ids=lambda before: before[0][:4].hex(),
)
def test_what_may_stand_before_a_frame(before):
    assert read_image_size(jpeg(0x0102, 0x0304, *before)) == (0x0304, 0x0102)


@pytest.mark.parametrize(
    "before", [[b"\xfe\xe0\x00\x02"], [segment(0xE0)[:3] + b"\x03"], [segment(0xE0), b"\x00"]]
)
def test_what_is_no_segment(before):
    with pytest.raises(FormatError, match="a JPEG that does not say|first bytes"):
        read_image_size(jpeg(5, 5, *before))


def test_scans_of_a_jpeg():
    body = jpeg(5, 6)
    assert read_image_size(body + b"\xff\xda" * 100) == (6, 5)
    with pytest.raises(FormatError, match="a JPEG of 101 scans, at most 100 are taken"):
        read_image_size(body + b"\xff\xda" * 101)


def test_bitmaps():
    """A height below 0 is that of one from the top down; the oldest header is another form."""
    assert read_image_size(bmp(7, -5)) == (5, 7) and read_image_size(bmp(7, -(2**31 - 1))) == (
        2**31 - 1,
        7,
    )
    assert read_image_size(bmp(7, 5, 41)) == (5, 7)
    for header in (12, 39, 0):
        with pytest.raises(FormatError, match="first bytes"):
            read_image_size(bmp(7, 5, header))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"GIF89a" + bytes(40),
        b"\x89PNG\r\n\x1a\x0b" + bytes(40),
        png(1, 1)[:12] + b"IDAT" + bytes(8),
        b"\xff\xd8\x00\xff",
        b"RIFX1234WEBPVP8X" + bytes(20),
        b"BA" + bmp(1, 1)[2:],
        b"RIFF1234WAVEVP8X" + bytes(20),
        b"II*\x00" + bytes(40),
    ],
)
def test_other_files(body):
    with pytest.raises(FormatError, match="its first bytes are not those of a JPEG, PNG, WebP or"):
        read_image_size(body)


@pytest.mark.parametrize("kind", [b"VP8Y", b"vp8 ", b"ALPH"])
def test_other_kinds_of_webp(kind):
    with pytest.raises(FormatError, match="a WebP file that does not say how large it is"):
        read_image_size(b"RIFF1234WEBP" + kind + bytes(40))
