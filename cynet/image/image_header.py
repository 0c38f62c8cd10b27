"""Check of a compressed image's header, before memory is allocated for its pixels."""

import struct

from ..base.errors import FormatError

# An image is refused if its pixel count exceeds both this limit and the limit per byte of file.
_MAX_UNCHECKED_PIXELS = 1 << 23  # pixels up to which the file's size does not matter
_MAX_PIXELS_PER_BYTE = 1100  # the best compression ratio of deflate
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def _jpeg_size(content):
    """Return (width, height) of a JPEG file, or None."""
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


def _declared_size(content):
    """Return (width, height) from a file's header; None for a missing header or other formats."""
    if content[:2] == b"\xff\xd8":
        return _jpeg_size(content)
    if content[:8] == _PNG_SIGNATURE and len(content) >= 24:
        return struct.unpack_from(">II", content, 16)
    if content[:2] == b"BM" and len(content) >= 26:
        width, height = struct.unpack_from("<ii", content, 18)
        return abs(width), abs(height)
    if content[:4] == b"GIF8" and len(content) >= 10:
        return struct.unpack_from("<HH", content, 6)
    return None


def check_header(content):
    """Refuse an image that decodes to far more bytes than the file has.

    Raises
    ------
    FormatError
    """
    size = _declared_size(content)
    if size is not None and size[0] * size[1] > max(
        _MAX_UNCHECKED_PIXELS, _MAX_PIXELS_PER_BYTE * len(content)
    ):
        raise FormatError(
            f"an image of {len(content)} bytes says that it has {size[0]} x {size[1]} pixels: more"
            f" than {_MAX_UNCHECKED_PIXELS} and more than {_MAX_PIXELS_PER_BYTE} a byte"
        )
    at = len(_PNG_SIGNATURE)
    # OpenCV allocates memory for the declared size
    while content[:8] == _PNG_SIGNATURE and at + 8 <= len(content):
        length = int.from_bytes(content[at : at + 4], "big")
        if length > len(content):
            raise FormatError(
                f"a PNG of {len(content)} bytes says that {length} bytes follow at offset {at}"
            )
        at += 12 + length
