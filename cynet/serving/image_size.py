"""Height and width of an image from its header, before anything is decoded."""

from __future__ import annotations

from ..base.errors import FormatError

_FRAME_MARKERS = range(0xC0, 0xD0)  # JPEG markers of frame headers, except for
_NON_FRAME_MARKERS = (0xC4, 0xC8, 0xCC)  # markers in that range without a frame header
_MARKERS_WITHOUT_LENGTH = (0x01, *range(0xD0, 0xD8))  # markers without a length
_MAX_SCANS = 100  # maximum scans of a JPEG: each may visit all of its pixels


def read_image_size(file: bytes) -> tuple[int, int]:
    """Return (height, width) from the header of a JPEG, PNG, WebP or BMP file.

    Raises
    ------
    FormatError
        Another file, or one that is cut off before it says so; a JPEG of more than 100 scans.
    """
    if file[:8] == b"\x89PNG\r\n\x1a\n" and file[12:16] == b"IHDR":
        return _size_from_bytes(file[20:24], file[16:20], "big")
    if file[:3] == b"\xff\xd8\xff":
        return _jpeg_size(file)
    if file[:4] == b"RIFF" and file[8:12] == b"WEBP":
        return _webp_size(file)
    if file[:2] == b"BM" and int.from_bytes(file[14:18], "little") >= 40:
        height, width = _size_from_bytes(file[22:26], file[18:22], "little")
        return min(height, (1 << 32) - height), width  # a negative height: rows from the top down
    raise FormatError("its first bytes are not those of a JPEG, PNG, WebP or BMP file")


def _size_from_bytes(height, width, order):
    if not (height and width):
        raise FormatError("the file ends before it says how large it is")
    return int.from_bytes(height, order), int.from_bytes(width, order)


def _jpeg_size(file):
    if (scans := file.count(b"\xff\xda")) > _MAX_SCANS:
        raise FormatError(f"a JPEG of {scans} scans, at most {_MAX_SCANS} are taken")
    at = 2
    while at + 9 <= len(file) and file[at] == 0xFF:
        kind = file[at + 1]
        if kind == 0xFF:  # a fill byte
            at += 1
        elif kind in _MARKERS_WITHOUT_LENGTH:
            at += 2
        elif kind in _FRAME_MARKERS and kind not in _NON_FRAME_MARKERS:
            return _size_from_bytes(file[at + 5 : at + 7], file[at + 7 : at + 9], "big")
        else:
            at += 2 + max(2, int.from_bytes(file[at + 2 : at + 4], "big"))
    raise FormatError("a JPEG that does not say how large it is")


def _webp_size(file):
    kind = file[12:16]
    if kind == b"VP8X" and len(file) >= 30:
        return 1 + int.from_bytes(file[27:30], "little"), 1 + int.from_bytes(file[24:27], "little")
    if kind == b"VP8L" and len(file) >= 25:
        bits = int.from_bytes(file[21:25], "little")
        return 1 + (bits >> 14 & 0x3FFF), 1 + (bits & 0x3FFF)
    if kind == b"VP8 " and len(file) >= 30:
        height, width = _size_from_bytes(file[28:30], file[26:28], "little")
        return height & 0x3FFF, width & 0x3FFF
    raise FormatError("a WebP file that does not say how large it is")
