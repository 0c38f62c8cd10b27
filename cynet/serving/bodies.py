"""Bodies of requests as arrays, and arrays as bodies of answers: JSON, ``.npy``, images."""

from __future__ import annotations

import functools
import io
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import ArgumentError, FormatError, shown

if TYPE_CHECKING:
    from ..typing import NumpyArray

NPY = ("application/x-npy", "application/octet-stream")
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class Images(NamedTuple):
    """How an image becomes a row of the network's input.

    size : (height, width)
        To which the shorter side is scaled and the middle cut out.
    first : bool
        Whether the channels come before height and width.
    color : bool
        Three channels, RGB; else one.
    scale, mean, std : float or array
        What is done to each channel: ``(pixel * scale - mean) / std``.
    """

    size: tuple[int, int]
    first: bool = True
    color: bool = True
    scale: float = 1 / 255
    mean: Any = 0.0
    std: Any = 1.0

    @classmethod
    def of(cls, shape: tuple[int, ...], **settings: Any) -> Images:
        """For rows of this shape, (channels, height, width) or (height, width, channels)."""
        if len(shape) != 3 or -1 in shape or not {shape[0], shape[2]} & {1, 3}:
            raise ArgumentError(f"rows of shape {shape} are not images")
        first = shape[0] in (1, 3)
        channels, size = (shape[0], shape[1:]) if first else (shape[2], shape[:2])
        return cls(size, first, channels == 3, **settings)

    def read(self, body: bytes) -> NumpyArray:
        """One row from a JPEG, a PNG or another file that OpenCV reads."""
        from .. import image

        pixels = image.imdecode(body, flag=int(self.color))
        height, width = self.size
        pixels = image.resize_short(pixels, max(self.size))
        pixels, _ = image.center_crop(pixels, (width, height))
        row = (pixels.asnumpy() * np.float32(self.scale) - np.asarray(self.mean, "float32")) / (
            np.asarray(self.std, "float32")
        )
        row = row.astype("float32")
        return (row.transpose(2, 0, 1) if self.first else row)[None]


def read_json(body: bytes) -> dict[str, Any]:
    """The inputs of a JSON body by name; the only input may be without a name."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the body is not JSON: {error}") from None
    if isinstance(found, dict) and list(found) == ["inputs"]:
        found = found["inputs"]
    if isinstance(found, list):
        return {"": found}
    if not isinstance(found, dict) or not found:
        raise FormatError(
            'the body must be {"inputs": {NAME: ROWS, ...}} or {"inputs": ROWS}, got'
            f" {shown(found)}"
        )
    return found


def read_npy(body: bytes) -> NumpyArray:
    """The array of a ``.npy`` file; pickled objects and lengths that the body lacks are refused."""
    try:
        shape, fortran, dtype, begin = _header(body[: _end_of_header(body)])
    except (ValueError, SyntaxError, TypeError, KeyError) as error:
        raise FormatError(f"expected a .npy file as the body: {error}") from None
    if dtype.hasobject or dtype.kind not in "biuf":
        raise FormatError(f"the .npy file has elements of {dtype}, expected numbers")
    count, rest = math.prod(shape), len(body) - begin
    if count * dtype.itemsize != rest:
        raise FormatError(f"the .npy file has {rest} bytes for shape {shape} of {dtype}")
    array = np.frombuffer(body, dtype, count, begin)
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


def _end_of_header(body):
    """Where the header of a ``.npy`` file ends, at the most."""
    size = 2 if body[6:7] == b"\x01" else 4
    return 8 + size + int.from_bytes(body[8 : 8 + size], "little")


@functools.lru_cache(256)
def _header(head: bytes) -> tuple[Any, bool, Any, int]:
    """(shape, whether Fortran's order, dtype, its length) of a header; NumPy takes longer to read
    one than a small network to run, and clients send the same again and again."""
    file = io.BytesIO(head)
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise FormatError(f"version {version} is not known")
    return (*_HEADERS[version](file), file.tell())


def write_npy(array: NumpyArray) -> bytes:
    """An array as a ``.npy`` file."""
    return _written_header(array.shape, array.dtype) + array.tobytes()


@functools.lru_cache(256)
def _written_header(shape, dtype):
    file = io.BytesIO()
    values = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, values)
    return file.getvalue()


def write_json(value: Any) -> bytes:
    """A JSON text; ValueError for NaN and infinity, which JSON has not."""
    return json.dumps(value, allow_nan=False).encode()
