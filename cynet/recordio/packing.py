"""Records of images: a header with label and id, then the image."""

from __future__ import annotations

import struct
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, FormatError, shown
from ..base.guard import guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import NDArray, NumpyArray

_HEADER = struct.Struct("<IfQQ")  # flag, label, id, id2


class IRHeader(NamedTuple("HEADER", [("flag", int), ("label", Any), ("id", int), ("id2", int)])):
    """The header before an image in a record.

    Parameters
    ----------
    flag : int
        0 if the label is one number, otherwise how many numbers it has; `pack` sets it.
    label : float or array of float32
        Class or target of the image.
    id : int
        Number of the image.
    id2 : int
        Upper half of the number, usually 0.

    Examples
    --------
    >>> header = mx.recordio.IRHeader(flag=0, label=3.0, id=7, id2=0)
    >>> mx.recordio.unpack(mx.recordio.pack(header, b"image"))
    (IRHeader(flag=0, label=3.0, id=7, id2=0), b'image')
    """

    __slots__ = ()


@guarded
def pack(header: IRHeader | Sequence[Any], s: bytes) -> bytes:
    """Pack a header and bytes into a record.

    Parameters
    ----------
    header : IRHeader
        The header; a label that is not a number (list, tuple, array) is written as float32.
    s : bytes
        What follows the header.

    Raises
    ------
    ArgumentError
        An id is not an int from 0 to 2**64 - 1, or the label does not fit a float32.
    ArgumentTypeError
        `s` is not bytes.

    Examples
    --------
    >>> unpack(pack(IRHeader(0, [1.0, 2.0], 7, 0), b"image"))[1]
    b'image'
    """
    header = IRHeader(*header)
    if not isinstance(s, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"pack: s is bytes, got {type(s).__name__}")
    if isinstance(header.label, Number):
        flag, number, numbers = 0, header.label, b""
    else:
        label = np.asarray(header.label, np.float32).ravel()
        flag, number, numbers = label.size, 0, label.tobytes()
    try:
        head = _HEADER.pack(flag, number, header.id, header.id2)
    except (struct.error, OverflowError) as error:
        raise ArgumentError(
            f"pack: id and id2 are ints from 0 to 2**64 - 1, label is a float32: {shown(header)}"
            f" ({error})"
        ) from None
    return head + numbers + bytes(s)


HEADER_SIZE = _HEADER.size  # bytes


def read_header(beginning, length):
    """Read the header of a record of `length` bytes, from its first bytes.

    Raises FormatError when the record is shorter than its header and its label.
    """
    if length < HEADER_SIZE:
        raise FormatError(
            f"a record of an image begins with {HEADER_SIZE} bytes of header, this has {length}"
        )
    header = IRHeader(*_HEADER.unpack_from(beginning))
    if length - HEADER_SIZE < 4 * header.flag:
        raise FormatError(
            f"a record says that its label has {header.flag} numbers, and has"
            f" {length - HEADER_SIZE} bytes behind the header"
        )
    return header


@guarded
def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """Take a record apart.

    Parameters
    ----------
    s : bytes
        The record.

    Returns
    -------
    (IRHeader, bytes)
        The header, whose label is a float or a float32 array, and what is after it.

    Raises
    ------
    FormatError
        If it is shorter than its header.

    Examples
    --------
    >>> packed = mx.recordio.pack(mx.recordio.IRHeader(0, 7.0, 3, 0), b"content")
    >>> header, content = mx.recordio.unpack(packed)
    >>> header.label, header.id, content
    (7.0, 3, b'content')
    """
    header, rest = read_header(s, len(s)), s[HEADER_SIZE:]
    if header.flag > 0:
        label = np.frombuffer(rest, np.float32, header.flag)
        header, rest = header._replace(label=label), rest[4 * header.flag :]
    return header, rest


@guarded
def pack_img(
    header: IRHeader | Sequence[Any],
    img: NumpyArray | NDArray,
    quality: int = 95,
    img_fmt: str = ".jpg",
) -> bytes:
    """Compress an image, and pack it with a header into a record.

    Parameters
    ----------
    header : IRHeader
        Label and number of the image.
    img : array of uint8, or of uint16 for PNG
        The image: (H, W, 3) in the order blue, green, red, or (H, W).
    quality : int
        Quality of JPEG, 1 to 100, or level of compression of PNG, 0 to 9.
    img_fmt : str
        Format of the image, ``'.jpg'`` or ``'.png'``.

    Examples
    --------
    >>> header = mx.recordio.IRHeader(0, 7.0, 3, 0)
    >>> packed = mx.recordio.pack_img(header, np.zeros((8, 10, 3), "uint8"), img_fmt=".png")
    >>> header, image = mx.recordio.unpack_img(packed)
    >>> header.label, image.shape
    (7.0, (8, 10, 3))
    """
    from ..image.codec import encode_image

    return pack(header, encode_image(img, img_fmt, quality))


@guarded
def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, NumpyArray]:
    """Unpack a record into its header and its decoded image.

    Parameters
    ----------
    s : bytes
        The record.
    iscolor : int
        1 for a color image, 0 for a gray one, -1 for the channels that the image has.

    Returns
    -------
    (IRHeader, numpy.ndarray)
        The image of shape (H, W, 3) in the order blue, green, red, or (H, W).

    Examples
    --------
    >>> header = mx.recordio.IRHeader(0, 7.0, 3, 0)
    >>> packed = mx.recordio.pack_img(header, np.zeros((8, 10, 3), "uint8"), img_fmt=".png")
    >>> mx.recordio.unpack_img(packed)[1].shape
    (8, 10, 3)
    """
    from ..image.codec import decode_bgr

    header, content = unpack(s)
    return header, decode_bgr(content, iscolor)
