"""Compressed images to NumPy arrays and back, and their sizes, by OpenCV."""

import struct

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, FormatError, ShapeError, shown
from ..base.opencv import cv, reason

# What may be unpacked of a compressed image: so many pixels, or so many times its bytes.
_MOST_FREE = 1 << 23
_MOST_TIMES = 1100  # what deflate can do at most


def _jpeg_size(content):
    """(width, height) of a JPEG file, or None."""
    at = 2
    while at + 9 <= len(content):
        if content[at] != 0xFF:
            return None
        kind = content[at + 1]
        if kind == 0xFF:  # filling
            at += 1
        elif 0xD0 <= kind <= 0xD9 or kind == 0x01:
            at += 2
        elif 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", content, at + 5)
            return width, height
        else:
            at += 2 + struct.unpack_from(">H", content, at + 2)[0]
    return None


def _said_size(content):
    """(width, height) that a file's head says; None where it says none or is of another kind."""
    if content[:2] == b"\xff\xd8":
        return _jpeg_size(content)
    if content[:8] == b"\x89PNG\r\n\x1a\n" and len(content) >= 24:
        return struct.unpack_from(">II", content, 16)
    if content[:2] == b"BM" and len(content) >= 26:
        width, height = struct.unpack_from("<ii", content, 18)
        return abs(width), abs(height)
    if content[:4] == b"GIF8" and len(content) >= 10:
        return struct.unpack_from("<HH", content, 6)
    return None


def _check_size(content):
    """Refuse what unpacks to much more than it is, before memory is taken for it."""
    size = _said_size(content)
    if size is not None and size[0] * size[1] > max(_MOST_FREE, _MOST_TIMES * len(content)):
        raise FormatError(
            f"an image of {len(content)} bytes says that it has {size[0]} x {size[1]} pixels: more"
            f" than {_MOST_FREE} and more than {_MOST_TIMES} a byte"
        )


def content_of(buffer):
    """The bytes of a compressed image, which came as bytes or as an array of uint8."""
    if isinstance(buffer, np.ndarray):
        buffer = buffer.tobytes()
    if not isinstance(buffer, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(
            f"a compressed image is bytes or an array of uint8, got {type(buffer).__name__}"
        )
    return bytes(buffer)


def decoded(buffer, flag, name=None):
    """The pixels of a compressed image as OpenCV orders them: blue, green, red.

    Parameters
    ----------
    buffer : bytes or numpy.ndarray of uint8
    flag : int
        OpenCV's: 1 colors, 0 grey, -1 as the file has it.
    name : str, optional
        Where it comes from, for the message.

    Raises
    ------
    FormatError
        When it is no image, or one that is too large for its bytes.
    """
    content, module = content_of(buffer), cv()
    if content:
        _check_size(content)
        try:
            image = module.imdecode(np.frombuffer(content, np.uint8), flag)
        except module.error as error:
            raise FormatError(f"{name or 'an image'}: {reason(error)}") from None
        if image is not None:
            return image
    what = f"{len(content)} bytes that are no image" if content else "no bytes"
    raise FormatError(f"{name or 'an image'} has {what} that OpenCV knows: {shown(content[:16])}")


def decoded_rgb(buffer, flag=1, to_rgb=True, name=None):
    """The pixels (H, W, 3), of `flag` 0 (H, W, 1), in the order red, green, blue."""
    if flag not in (-1, 0, 1):
        raise ArgumentError(f"flag is 1 for colors or 0 for grey, got {shown(flag)}")
    colored = cv().IMREAD_COLOR_RGB if to_rgb and flag == 1 else flag
    image = decoded(buffer, colored, name)
    if image.dtype != np.uint8:
        raise FormatError(f"{name or 'an image'} has pixels of {image.dtype}, uint8 are read")
    return image[:, :, None] if image.ndim == 2 else image


def encoded(image, ending, quality):
    """An image as bytes of JPEG or PNG.

    Parameters
    ----------
    image : array of uint8
        (H, W), (H, W, 1) or (H, W, 3) in the order blue, green, red.
    ending : str
        ``'.jpg'``, ``'.jpeg'`` or ``'.png'``.
    quality : int
    """
    image = np.asarray(image.asnumpy() if hasattr(image, "asnumpy") else image)
    module, kind = cv(), str(ending).lower()
    if kind not in (".jpg", ".jpeg", ".png"):
        raise ArgumentError(f"img_fmt is '.jpg' or '.png', got {shown(ending)}")
    if image.ndim not in (2, 3) or image.dtype != np.uint8 or 0 in image.shape:
        raise ShapeError(
            f"an image is an array (H, W) or (H, W, C) of uint8, got {image.shape} {image.dtype}"
        )
    option = module.IMWRITE_PNG_COMPRESSION if kind == ".png" else module.IMWRITE_JPEG_QUALITY
    try:
        done, content = module.imencode(kind, image, [option, int(quality)])
    except module.error as error:
        raise ArgumentError(f"an image of {image.shape}: {reason(error)}") from None
    if not done:
        raise ArgumentError(f"OpenCV cannot write an image of {image.shape} as {kind}")
    return content.tobytes()
