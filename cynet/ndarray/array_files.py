"""Arrays in files of other programs: ``.npz`` of NumPy and ``.safetensors``."""

from __future__ import annotations

import io
import json
import math
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.compat import optional
from ..base.dtype import BFLOAT16
from ..base.errors import ArgumentError, FormatError, shorten, shown
from ..base.files import open_for_reading, read_file
from ..base.kinds import read_json
from .creation import array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .ndarray import NDArray

_HEADER_READERS = {  # version of the .npy format -> reader
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_MAX_CHARS = 10_000  # characters of a name in a .npz file: it has two bytes for its length
# limits of the bytes in a compressed file: a number, or a multiple of its size
_MAX_UNZIPPED_BYTES, _MAX_ZIP_RATIO = 64 << 20, 200  # limits against zip bombs


def array_file_format(name: str) -> str:
    """The format of a file: ``"npz"``, ``"safetensors"``, or ``""`` for MXNet's own."""
    extension = name.rpartition(".")[2].lower()
    return extension if extension in ("npz", "safetensors") else ""


def read_arrays(name: str, form: str) -> dict[str, NDArray]:
    """The arrays of a file by name; numbers without axes become arrays of one element.

    Raises FormatError: the file is damaged, or has arrays of a dtype that cynet lacks.
    """
    if form == "npz":
        with open_for_reading(name) as file:
            values = _read_npz(file, name)
    else:
        library = optional("safetensors.numpy", f"load of {shown(name)}")
        data = read_file(name)
        try:
            words, narrow = _rename_dtype(data, "BF16", "U16")
            values = library.load(words)
            values.update((key, values[key].view(BFLOAT16)) for key in narrow)
        except Exception as error:  # safetensors has errors of its own
            raise FormatError(f"{name}: {shorten(str(error), 300)}") from None
    return {key: _array_from_values(value, key, name) for key, value in values.items()}


def _rename_dtype(data, old, new, names=None):
    """Replace the dtype `old` by `new` in a ``.safetensors`` file, for all arrays or `names`;
    returns (bytes, names of those arrays). NumPy and its form of that package have no
    bfloat16: its bits go through them as integers.

    The file begins with the length of its header in 8 bytes; the header is JSON.
    """
    n = int.from_bytes(data[:8], "little")
    if n > len(data) - 8:
        return data, []  # safetensors reports the error
    header = read_json(data[8 : 8 + n])
    changed = [
        key
        for key, each in header.items()
        if key != "__metadata__" and each.get("dtype") == old and (names is None or key in names)
    ]
    if not changed:
        return data, []
    for key in changed:
        header[key]["dtype"] = new
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data[8 + n :], changed


def _read_npz(file, name):
    import zipfile  # imported late: zipfile loads much

    values = {}
    try:
        with zipfile.ZipFile(file) as archive:
            size = sum(each.file_size for each in archive.infolist())
            packed = sum(each.compress_size for each in archive.infolist())
            if size > max(_MAX_UNZIPPED_BYTES, _MAX_ZIP_RATIO * packed):
                raise FormatError(f"{name}: {packed} bytes say that they hold {size}")
            length = file.seek(0, io.SEEK_END)
            if packed > length:  # zipfile allocates the size that the header declares
                raise FormatError(f"{name}: {length} bytes say that {packed} are packed in them")
            for each in archive.infolist():
                data = archive.read(each)
                key = each.filename.removesuffix(".npy")
                if key in values:
                    raise FormatError(f"{name}: array {shown(key)} is there twice")
                values[key] = _read_npy(data, f"{name}: array {shown(key)}")
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{name}: {error}") from None
    return values


def _read_npy(data, where):
    """The array of a ``.npy`` file; a header that declares more bytes than the file has is
    refused."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version not in _HEADER_READERS:
        raise FormatError(f"{where}: version {version} of .npy is not read")
    shape, _, dtype = _HEADER_READERS[version](file)
    needed, available = math.prod(shape) * dtype.itemsize, len(data) - file.tell()
    if needed > available and not dtype.hasobject:
        raise FormatError(f"{where} of shape {shown(shape)} in {available} bytes")
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def _array_from_values(value, key, name):
    try:
        return array(value.reshape(value.shape or (1,)), dtype=value.dtype)
    except (TypeError, ValueError) as error:
        raise FormatError(f"{name}: array {shown(key)} of dtype {value.dtype}: {error}") from None


def _unsavable_error(key, form):
    return ArgumentError(f"save: the name {shown(key)} has no form in a .{form} file")


def pack_arrays(form: str, arrays: Sequence[NDArray], names: Sequence[str], name: str) -> bytes:
    """The bytes of a file; arrays without names are called arr_0, arr_1, ... as NumPy does.

    Raises ArgumentError: a name that the format cannot hold.
    """
    names = names or [f"arr_{i}" for i in range(len(arrays))]
    for key, each in zip(names, arrays):
        if each.stype != "default":
            raise ArgumentError(f"save: {shown(key)} is {each.stype}: .{form} has no form for it")
    values: Mapping[str, Any] = {key: each.host_copy() for key, each in zip(names, arrays)}
    if form == "safetensors":
        library = optional("safetensors.numpy", f"save of {shown(name)}")
        for key in values:
            if key == "__metadata__":
                raise _unsavable_error(key, form)
        narrow = {key for key, value in values.items() if value.dtype == BFLOAT16}
        made: bytes = library.save(
            {key: v.view(np.uint16) if key in narrow else v for key, v in values.items()}
        )
        return _rename_dtype(made, "U16", "BF16", narrow)[0]
    import zipfile

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for key, value in values.items():
            intact = zipfile.ZipInfo(f"{key}.npy").filename == f"{key}.npy"  # not cut off at a NUL
            if not key or not intact or key.startswith("/") or "\\" in key or len(key) > _MAX_CHARS:
                raise _unsavable_error(key, form)
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, value, allow_pickle=False)
    return file.getvalue()
