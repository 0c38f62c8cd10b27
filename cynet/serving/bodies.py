"""Conversions of request bodies to arrays, and of arrays to bodies: JSON, ``.npy``, images."""

from __future__ import annotations

import functools
import io
import json
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import ArgumentError, ArgumentTypeError, FormatError, shown
from ..base.kinds import read_json as parse
from .image_size import read_image_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import NumpyArray

NPY_TYPES = ("application/x-npy", "application/octet-stream")  # media types of .npy bodies
_ENCODER = json.JSONEncoder(allow_nan=False)  # refuses NaN and infinity
_MAX_HEADER_BYTES = 1024  # bytes of a .npy file's header; NumPy writes 128
_MAX_AXES = 32  # limit of axes
_HEADER_FIELD = re.compile(  # one field of a .npy header
    rb"\s*'(descr|fortran_order|shape)'\s*:\s*"
    rb"(?:'([<>|=]?[a-zA-Z]\d{0,9})'|(True|False)|\(([\d\s,]*)\))\s*(?:,|$)"
)
# number of a regex group -> key of the header
_HEADER_KEYS = {2: b"descr", 3: b"fortran_order", 4: b"shape"}  # regex group -> field of the header


class Images(NamedTuple):  # how image files become rows
    """The conversion of an image to a row of the network's input.

    size : (height, width)
        To which the shorter side is scaled and the middle cut out.
    first : bool
        Whether the channels come before height and width.
    color : bool
        Three channels, RGB; else one.
    scale, mean, std : float or array
        What is done to each channel: ``(pixel * scale - mean) / std``.
    maximum : int
        Pixels of an image, at most: a larger one is refused before it is decoded.
    """

    size: tuple[int, int]
    first: bool = True
    color: bool = True
    scale: float = 1 / 255
    mean: Any = 0.0
    std: Any = 1.0
    maximum: int = 1 << 25

    @classmethod
    def for_rows(cls, shape: tuple[int, ...], **settings: Any) -> Images:
        """Create the conversion to rows of this shape, with the channels first or last."""
        if len(shape) != 3 or -1 in shape or not {shape[0], shape[2]} & {1, 3}:
            raise ArgumentError(f"rows of shape {shape} are not images")
        first = shape[0] in (1, 3)
        channels, size = (shape[0], shape[1:]) if first else (shape[2], shape[:2])
        return cls(size, first, channels == 3, **settings)

    def read(self, body: bytes) -> NumpyArray:
        """Decode a JPEG, PNG, WebP or BMP file to one row."""
        from .. import image

        height, width = read_image_size(body)
        if not 0 < height * width <= self.maximum:
            raise FormatError(f"{width} x {height} pixels, expected 1 to {self.maximum}")
        pixels = image.imdecode(body, flag=int(self.color))
        height, width = self.size
        pixels = image.resize_short(pixels, max(self.size))
        pixels, _ = image.center_crop(pixels, (width, height))
        row = (pixels.asnumpy() * np.float32(self.scale) - np.asarray(self.mean, "float32")) / (
            np.asarray(self.std, "float32")
        )
        row = row.astype("float32")
        return (row.transpose(2, 0, 1) if self.first else row)[None]


def read_json(body: bytes, names: Sequence[str]) -> dict[str, NumpyArray]:
    """Return the inputs of a JSON body by name; the only input may be without a name.

    Raises FormatError or ArgumentTypeError or ArgumentError: no JSON, or other inputs than `names`;
    rows that are no arrays of numbers, or with numbers that are not finite.
    """
    found = parse_json(body)
    quotes = 0  # counts quotes of names, not those of texts
    if isinstance(found, dict) and list(found) == ["inputs"]:
        found, quotes = found["inputs"], 2
    if isinstance(found, list):
        found = {single_input_name(names): found}
    elif isinstance(found, dict):
        quotes += 2 * len(found)
    if not isinstance(found, dict) or not found:
        raise FormatError(
            'the body must be {"inputs": {NAME: ROWS, ...}} or {"inputs": ROWS}, got'
            f" {shown(found)}"
        )
    for name in found:
        if name not in names:
            raise ArgumentTypeError(f"no input is called {shown(name)}; there are {list(names)}")
    if body.count(b'"') > quotes:
        for name, rows in found.items():
            _refuse_text_values(name, rows)
    return {k: require_finite(f"input '{k}'", rows_to_array(k, rows)) for k, rows in found.items()}


def parse_json(body: bytes) -> Any:
    """Parse a JSON text; duplicate names, NaN and infinity are refused."""
    try:
        return parse(body, parse_constant=_refuse_nonfinite, object_pairs_hook=_reject_duplicates)
    except ValueError as error:
        raise FormatError(f"the body is not JSON: {error}{_gzip_hint(body)}") from None


def single_input_name(names: Sequence[str]) -> str:
    """Return the name of the only input, for unnamed rows."""
    if len(names) > 1:
        raise ArgumentError(f"the network has the inputs {list(names)}: name each")
    return names[0]


def rows_to_array(name: str, rows: Any) -> NumpyArray:
    """Convert rows of an input to an array; an error names the input if they are no numbers."""
    try:
        array = np.asarray(rows)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ArgumentError(f"input '{name}' is not an array of numbers: {error}") from None
    if array.dtype == object and {*map(type, array.flat)} <= {int, float}:
        try:
            array = array.astype("float64")  # integers beyond 64 bits
        except OverflowError:
            raise ArgumentError(
                f"input '{name}' has a number that no float64 holds, such as 1e999"
            ) from None
    if array.dtype.kind not in "biuf":
        raise ArgumentTypeError(f"input '{name}' has elements of {array.dtype}, not numbers")
    return array


def require_finite(what: str, array: NumpyArray) -> NumpyArray:
    """Refuse an array from JSON with numbers beyond float64; return any other."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ArgumentError(f"{what} has a number that no float64 holds, such as 1e999")
    return array


def _refuse_nonfinite(word):
    raise FormatError(f"{word} is no number of JSON")


def _reject_duplicates(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))
        raise FormatError(f"{shown(twice)} is given twice")
    return found


def _refuse_text_values(name, rows):
    """Refuse text, as NumPy would give all elements the size of the longest one."""
    left = [rows]
    while left:
        each = left.pop()
        if isinstance(each, str):
            raise ArgumentTypeError(f"input '{name}' has the text {shown(each)}, not numbers")
        if isinstance(each, list):
            left.extend(each)


def _gzip_hint(body):
    return ": it is compressed by gzip, send it as it is" if body[:2] == b"\x1f\x8b" else ""


def read_npy(body: bytes) -> NumpyArray:
    """Read a ``.npy`` file; objects, and a shape that does not fit the body, are refused."""
    if body[:6] != b"\x93NUMPY":
        raise FormatError(
            f"expected a .npy file as the body, got {shown(body[:6])}{_gzip_hint(body)}"
        )
    if body[6:8] not in (b"\x01\x00", b"\x02\x00"):
        raise FormatError(f"expected a .npy file of version 1.0 or 2.0, got {shown(body[6:8])}")
    begin = 10 if body[6] == 1 else 12
    length = int.from_bytes(body[8:begin], "little")
    if length > _MAX_HEADER_BYTES or begin + length > len(body):
        raise FormatError(
            f"the .npy file has a header of {length} bytes: more than it has, or than"
            f" {_MAX_HEADER_BYTES}"
        )
    dtype, fortran, shape = _parse_npy_header(body[begin : begin + length].strip())
    if dtype.kind not in "biuf":
        raise FormatError(f"the .npy file has elements of {dtype}, expected numbers")
    if len(shape) > _MAX_AXES:
        raise FormatError(f"the .npy file has {len(shape)} axes, at most {_MAX_AXES} are taken")
    count, rest = math.prod(shape), len(body) - begin - length
    if count * dtype.itemsize != rest or (count == 0 and max(shape) > 1 << 31):
        raise FormatError(f"the .npy file has {rest} bytes for shape {shape} of {dtype}")
    array = np.frombuffer(body, dtype, count, begin + length)
    if dtype.kind == "b":
        array = array.view("uint8") != 0  # any byte but 0 is True
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


def _parse_npy_header(text):
    """Return (dtype, whether Fortran's order, shape) from the header of a ``.npy`` file, a dict in
    Python's syntax, as NumPy writes it for numbers."""
    found, at, inner = {}, 0, text[1:-1]
    while text[:1] == b"{" and text[-1:] == b"}" and (match := _HEADER_FIELD.match(inner, at)):
        name = match[1]
        if name in found or name != _HEADER_KEYS[match.lastindex]:
            break
        found[name], at = match[match.lastindex].decode(), match.end()
    if len(found) < 3 or inner[at:].strip():
        raise FormatError(
            f"the .npy file has the header {shown(text)}, which no array of numbers has"
        )
    try:
        dtype = np.dtype(found[b"descr"])
        sizes = [int(each) for each in found[b"shape"].split(",") if each.strip()]
    except (TypeError, ValueError) as error:
        raise FormatError(f"the .npy file has the header {shown(text)}: {error}") from None
    return dtype, found[b"fortran_order"] == "True", tuple(sizes)


def write_npy(array: NumpyArray) -> bytes:
    """Return an array as a ``.npy`` file."""
    return _npy_header(array.shape, array.dtype) + array.tobytes()


@functools.lru_cache(256)
def _npy_header(shape, dtype):
    file = io.BytesIO()
    values = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, values)
    return file.getvalue()


def write_json(value: Any) -> bytes:
    """Return a value as JSON; ValueError for NaN and infinity, which JSON lacks."""
    return _ENCODER.encode(value).encode()
