"""Saving and loading arrays in MXNet's ``.params`` format, all of it checked while it is read.

The layout, all numbers little-endian::

    file    uint64 0x112, uint64 0, uint64 count, count arrays, uint64 names (0 or count), names
    name    uint64 length, UTF-8 bytes
    array   uint32 0xF993FAC9, int32 0 (dense), shape, context, int32 type flag, data (V2; V3: ..CA)
            uint32 0xF993FAC8, shape, context, int32 type flag, data                  (V1)
            uint32 ndim, ndim uint32, context, int32 type flag, data                  (V0)
    sparse  uint32 0xF993FAC9, int32 1 (row_sparse) or 2 (csr), shape of the values, shape, context,
            int32 type flag, of each index array (csr: indptr, indices) int32 type flag and shape,
            values, index arrays
    shape   uint32 ndim, ndim int64
    context int32 device type, int32 device index

Written is V2 (V3 under ``mx.util.np_shape``, and of an array without axes), byte for byte what
MXNet 1.9.1 writes. Every array is loaded to the CPU, wherever it was saved.
"""

from __future__ import annotations

import functools
import math
import os
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.dtype import DTYPES, NAMES, SCALAR_TYPES
from ..base.errors import ArgumentError, ArgumentTypeError, FormatError, shown
from ..base.files import file_name, open_for_reading, write_atomically
from ..base.guard import guarded
from ..base.np_shape import is_np_shape
from ..context import cpu
from ._fill import array_filled_by
from .array_files import array_file_format, pack_arrays, read_arrays
from .creation import array
from .ndarray import NDArray
from .sparse.arrays import make_sparse as make_sparse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..typing import FileName

_MAGIC = 0x112  # first bytes of a .params file
_MAGIC_V1, _MAGIC_V2, _MAGIC_V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA  # formats of an array
_STYPE_BY_FLAG = {1: "row_sparse", 2: "csr"}  # storage type by its number in files
_FLAG_BY_STYPE = {name: flag for flag, name in _STYPE_BY_FLAG.items()}  # its inverse
_INDEX_DTYPE_FLAGS = (4, 6)  # int32, int64
_FILE_DTYPES = {flag: dtype.newbyteorder("<") for flag, dtype in DTYPES.items()}  # by dtype flag
_DEVICE_CODES = (1, 2, 3, 5)  # cpu, gpu, cpu_pinned, cpu_shared
_MAX_AXES = 8  # of an array in a file
_MAX_COPY = 4096  # elements up to which a copy is quicker than a view
_MIN_IN_PLACE_BYTES = 64 << 10  # bytes from which on data is read into the array's memory
_MIN_BYTES = 20  # bytes of the smallest array: magic or ndim, an axis, context, type


# --- reading -------------------------------------------------------------------------------------
class BytesFile:  # bytes in memory as a readable file
    """Bytes in memory with the methods of a file object that reading uses."""

    def __init__(self, data):
        self.data, self.at = memoryview(data).cast("B"), 0

    def read(self, n):
        self.at += n
        return self.data[self.at - n : self.at]

    def readinto(self, view):
        piece = self.read(len(view))
        view[: len(piece)] = piece
        return len(piece)

    def seek(self, at):
        self.at = at


_CONVERT_HINT = "save the arrays there with safetensors, and load NAME.safetensors"  # in errors
_OTHER_FORMATS = {  # first bytes of other formats that users pass as .params -> name
    b"PK\3\4": f"a zip archive. If it is PyTorch's, {_CONVERT_HINT}; if NumPy's, call it NAME.npz",
    b"\x80\2": f"a pickle, as PyTorch's files are: {_CONVERT_HINT}",
    b"\x80\3": f"a pickle, as PyTorch's files are: {_CONVERT_HINT}",
    b"\x80\4": f"a pickle: {_CONVERT_HINT}",
    b"\x80\5": f"a pickle: {_CONVERT_HINT}",
    b"\x89HDF": f"HDF5, as Keras writes it: {_CONVERT_HINT}",
    b"\x93NUMPY": "an array of NumPy's: load it with numpy.load, save it as NAME.npz",
    b"\x1f\x8b": "compressed by gzip: unpack it first",
}


class _Reader:  # a position in a .params file or buffer
    """A position in a file or buffer of `size` bytes; reading beyond it raises FormatError with
    file and offset, counted from `start`."""

    def __init__(self, source, name, start, size):
        self.source, self.name, self.start, self.size, self.at = source, name, start, size, 0
        source.seek(start)

    def fail(self, expected, found, at=None):  # raises FormatError
        raise FormatError(
            f"{self.name}: offset {self.at if at is None else at}: expected {expected}, "
            f"found {found}"
        )

    def bytes_left(self):
        return self.size - self.at

    def read_bytes(self, n, what):
        """The next n bytes."""
        if n > self.size - self.at:
            self.fail(f"{n} bytes of {what}", f"the end of the file after {self.bytes_left()}")
        self.at += n
        found = self.source.read(n)
        if len(found) < n:  # another process truncates the file while it is read
            self.at -= n
            self.fail(f"{n} bytes of {what}", f"the end of the file after {len(found)}")
        return found

    def fill_view(self, view):
        """Fill a writable memoryview with the next bytes."""
        done = 0
        while done < len(view):
            read = self.source.readinto(view[done:])
            if not read:  # another process truncates the file while it is read
                self.fail(f"{len(view)} bytes of data", f"the end of the file after {done}")
            done += read
        self.at += done
        return done

    def seek(self, at):  # at: bytes from `start`
        if at != self.at:
            self.at = at
            self.source.seek(self.start + at)

    def unpack(self, layout, what):  # the next numbers, by a struct layout
        return struct.unpack("<" + layout, self.read_bytes(struct.calcsize("<" + layout), what))

    def scalar(self, layout, what):  # the next number, by a struct layout
        return self.unpack(layout, what)[0]


class _ArrayRecord(NamedTuple):  # where a file has an array's data, and its shape
    """The position, dtype and shape of an array's data in a file."""

    offset: int
    nbytes: int
    shape: tuple
    flag: int
    stype: str = "default"
    full: tuple = ()  # shape of a sparse array; `shape` is that of its values
    aux: tuple = ()  # records of a sparse array's indices

    @property
    def dtype(self):
        return _FILE_DTYPES[self.flag]


def _read_shape(reader, ndim, letter, label, least=1):
    at = reader.at
    if not least <= ndim <= _MAX_AXES:
        found = "an array without a shape" if ndim == 0 else f"{ndim}"
        reader.fail(f"{least} to {_MAX_AXES} axes of {label}", found, at - 4)
    if ndim == 0:
        return ()
    shape = reader.unpack(f"{ndim}{letter}", f"shape of {label}")
    if min(shape) < 0:
        reader.fail(f"no negative sizes in the shape of {label}", shape, at)
    if 0 in shape and math.prod(n for n in shape if n) >= 1 << 56:
        reader.fail(f"sizes in the shape of {label} that an array can have", shape, at)
    return shape


def _read_array_record(reader, label):
    """The record of the next array of a file."""
    at = reader.at
    magic = reader.scalar("I", f"{label}'s beginning")
    if magic in (_MAGIC_V2, _MAGIC_V3):
        storage = reader.scalar("i", f"storage type of {label}")
        if storage in _STYPE_BY_FLAG and magic == _MAGIC_V2:
            return _read_sparse_record(reader, label, _STYPE_BY_FLAG[storage])
        if storage != 0:
            reader.fail(f"storage type 0 (dense), 1 or 2 of {label}", storage, at + 4)
    if magic == _MAGIC_V3:  # NumPy's shapes: there may be no axes
        shape = _read_shape(reader, reader.scalar("I", f"number of axes of {label}"), "q", label, 0)
    elif magic in (_MAGIC_V1, _MAGIC_V2):
        shape = _read_shape(reader, reader.scalar("I", f"number of axes of {label}"), "q", label)
    elif 0 < magic <= _MAX_AXES:
        shape = _read_shape(reader, magic, "I", label)
    else:
        reader.fail(
            f"the beginning of {label} (0x{_MAGIC_V2:X}, 0x{_MAGIC_V1:X} or a number of axes)",
            f"0x{magic:X}",
            at,
        )
    flag = _read_type_flag(reader, label)
    record = _make_data_record(reader, label, shape, flag)
    reader.seek(reader.at + record.nbytes)
    return record


def _read_type_flag(reader, label):
    """Read an array's context, then its type flag."""
    device, index = reader.unpack("ii", f"context of {label}")
    if device not in _DEVICE_CODES or index < 0:
        reader.fail(
            f"a device type (one of {_DEVICE_CODES}) and index of {label}",
            (device, index),
            reader.at - 8,
        )
    flag = reader.scalar("i", f"type flag of {label}")
    if flag not in NAMES:
        reader.fail(f"a type flag ({', '.join(map(str, NAMES))}) for {label}", flag, reader.at - 4)
    return flag


def _make_data_record(reader, label, shape, flag):
    """The record of the array that begins at this position."""
    nbytes = math.prod(shape) * DTYPES[flag].itemsize
    record = _ArrayRecord(reader.at, nbytes, shape, flag)
    if nbytes > reader.bytes_left():
        reader.fail(
            f"{nbytes} bytes of data of {label} ({NAMES[flag]}, shape {shape})",
            f"the end of the file after {reader.bytes_left()}",
        )
    return record


def _read_sparse_record(reader, label, stype):
    """The record of a sparse array: the record of its values, with the records of its indices."""
    stored, full = (
        _read_shape(reader, reader.scalar("I", f"number of axes of {label}"), "q", label)
        for _ in range(2)
    )
    flag = _read_type_flag(reader, label)
    found = []
    for name in ("indptr", "indices")[stype == "row_sparse" :]:
        kind = reader.scalar("i", f"type flag of the {name} of {label}")
        if kind not in _INDEX_DTYPE_FLAGS:
            reader.fail(f"a type flag (4, 6) for the {name} of {label}", kind, reader.at - 4)
        axes = reader.scalar("I", f"number of axes of the {name} of {label}")
        found.append((name, _read_shape(reader, axes, "q", f"{label}'s {name}"), kind))
    if stype == "csr":
        wanted = [(full[0] + 1,), stored] if len(full) == 2 and len(stored) == 1 else None
    else:
        wanted = [stored[:1]] if stored[1:] == full[1:] else None
    shapes = [shape for _, shape, _ in found]
    if shapes != wanted:
        reader.fail(f"shapes of {label} ({stype}) that fit", (full, stored, *shapes))
    record = _make_data_record(reader, label, stored, flag)
    reader.seek(reader.at + record.nbytes)
    aux = []
    for name, shape, kind in found:
        aux.append(_make_data_record(reader, name, shape, kind))
        reader.seek(reader.at + aux[-1].nbytes)
    return record._replace(stype=stype, full=full, aux=tuple(aux))


def _read_name(reader, i):
    at = reader.at
    length = reader.scalar("Q", f"length of name {i}")
    try:
        return str(reader.read_bytes(length, f"name {i}"), "utf-8")
    except UnicodeDecodeError:
        reader.fail(f"UTF-8 in name {i}", "other bytes", at + 8)


def _scan_records(reader):
    """The records and names of a file: all of it is checked before the first array is made."""
    magic = reader.scalar("Q", "the file's beginning")
    if magic != _MAGIC:
        begin = magic.to_bytes(8, "little")
        other = next(
            (f": {what}" for mark, what in _OTHER_FORMATS.items() if begin.startswith(mark)), ""
        )
        reader.fail(f"0x{_MAGIC:X}, with which a .params file begins", f"0x{magic:X}{other}", 0)
    reader.scalar("Q", "the reserved field")
    count = reader.scalar("Q", "the number of arrays")
    if count > reader.bytes_left() // _MIN_BYTES:
        reader.fail(
            f"at most {reader.bytes_left() // _MIN_BYTES} arrays in a file of this size", count, 16
        )
    records = [_read_array_record(reader, f"array {i}") for i in range(count)]
    at = reader.at
    n_names = reader.scalar("Q", "the number of names")
    if n_names not in (0, count):
        reader.fail(f"no name or {count}", n_names, at)
    names, seen = [], set()
    for i in range(n_names):
        name = _read_name(reader, i)
        if name in seen:
            reader.fail("names that differ", f"{shown(name)} twice", at)
        seen.add(name)
        names.append(name)
    if reader.bytes_left():
        reader.fail("the end of the file", f"{reader.bytes_left()} more bytes")
    return records, names


def _bytes_to_array(raw, dtype):
    """Bytes of a file as a NumPy array; every byte of a bool other than 0 is True."""
    if dtype.kind == "b":
        return np.frombuffer(raw, np.uint8) != 0
    return np.frombuffer(raw, dtype)


def _read_data(reader, record):
    """An NDArray with the data of a record; all but small ones are read into its memory."""
    reader.seek(record.offset)
    if record.stype != "default":
        return _read_sparse_data(reader, record)
    if record.nbytes <= _MIN_IN_PLACE_BYTES:
        values = _bytes_to_array(reader.read_bytes(record.nbytes, "data"), record.dtype)
        return array(values.reshape(record.shape), ctx=cpu(), dtype=SCALAR_TYPES[record.flag])
    fill = functools.partial(_read_into_view, reader, record.dtype)
    return array_filled_by(record.shape, SCALAR_TYPES[record.flag], fill)


def _read_sparse_data(reader, record):
    """A sparse array, whose structure is checked."""
    values = _read_data(reader, record._replace(stype="default"))
    aux = [_read_data(reader, each).asnumpy().astype(np.int64) for each in record.aux]
    indptr = aux[0] if record.stype == "csr" else None
    try:
        return make_sparse(record.stype, record.full, values, aux[-1], indptr, False).as_canonical()
    except ArgumentError as error:
        reader.fail("the structure of a sparse array", error, record.aux[0].offset)


def _read_into_view(reader, dtype, view):
    """Fill an array of `dtype` with the next bytes, in the host's byte order."""
    reader.fill_view(view)
    if dtype.kind == "b":
        values = np.frombuffer(view, np.uint8)
        np.not_equal(values, 0, out=values.view(bool))
    elif not dtype.isnative:
        np.frombuffer(view, dtype).byteswap(inplace=True)


def _read_arrays(source, name, start, size):
    reader = _Reader(source, name, start, size)
    records, names = _scan_records(reader)
    arrays = [_read_data(reader, record) for record in records]
    return dict(zip(names, arrays)) if names else arrays


def parse_params(data, name):
    """The NumPy views and names of a ``.params`` file's bytes.

    data: bytes-like
    name (str): What to call it in messages.

    Returns (list of numpy.ndarray, list of str): the list of names is empty when the file holds
    none. Raises FormatError: naming the offset, what was expected there and what was found.
    """
    data = memoryview(data).cast("B")
    reader = _Reader(BytesFile(data), name, 0, len(data))
    records, names = _scan_records(reader)
    for record in records:
        if record.stype != "default":
            reader.fail("dense arrays alone", record.stype, record.offset)
    views = [
        _bytes_to_array(data[each.offset : each.offset + each.nbytes], each.dtype).reshape(
            each.shape
        )
        for each in records
    ]
    return views, names


@guarded
def load(fname: FileName) -> Any:
    """The arrays of a ``.params`` file, or of one that ends in ``.npz`` or ``.safetensors``.

    They are read into the arrays' own memory, so that loading needs little more than that.

    Parameters
    ----------
    fname : str or path
        The file to read.

    Returns
    -------
    list of NDArray, or dict of str to NDArray
        As they were saved; on the CPU.

    Raises
    ------
    FileError
        When the file cannot be read; also the OSError of its kind.
    FormatError
        When it is truncated, corrupt or is not a ``.params`` file; the message
        names the file, the offset and what was expected there.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.params")
    >>> mx.nd.save(path, {"w": mx.nd.array([1, 2])})
    >>> mx.nd.load(path)["w"].asnumpy().tolist()
    [1.0, 2.0]
    """
    name = file_name(fname, "load: a file name")
    if form := array_file_format(name):
        return read_arrays(name, form)
    with open_for_reading(name) as file:
        return load_arrays_from(file, name)


def load_arrays_from(file, name, start=0, end=None):
    """The arrays of the ``.params`` block in an open file from `start` to `end` or its own end."""
    if not file.seekable():
        if start:
            raise ArgumentError(f"{name} is a pipe: it can be read from its beginning only")
        data = file.read()
        return _read_arrays(BytesFile(data), name, 0, len(data))
    end = os.fstat(file.fileno()).st_size if end is None else end
    return _read_arrays(file, name, start, max(end - start, 0))


@guarded
def load_frombuffer(buf: bytes) -> Any:
    """The arrays in the bytes of a ``.params`` file.

    Parameters
    ----------
    buf : bytes-like
        The contents of a ``.params`` file.

    Returns
    -------
    list of NDArray, or dict of str to NDArray

    Raises
    ------
    ArgumentTypeError, FormatError
        As `load`.

    Examples
    --------
    >>> mx.nd.load_frombuffer(b"0123456789")
    Traceback (most recent call last):
    ...
    cynet.errors.FormatError: <buffer>: offset 0: expected 0x112, ... found 0x3736353433323130
    """
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"load_frombuffer takes bytes, got {type(buf).__name__}")
    try:
        source = BytesFile(buf)
    except TypeError:
        raise ArgumentTypeError("load_frombuffer takes contiguous bytes") from None
    return _read_arrays(source, "<buffer>", 0, len(source.data))


# --- writing -------------------------------------------------------------------------------------
def params_chunks(data):
    """The bytes of the file that `save` writes, in a few large pieces without copies of arrays. All
    arguments are checked before the first piece."""
    return _file_chunks(*_arrays_and_names(data))


def _file_chunks(arrays, names):
    yield struct.pack("<QQQ", _MAGIC, 0, len(arrays))
    for each in arrays:
        if each.stype != "default":
            yield from _sparse_chunks(each)
            continue
        context = each.context
        # yield the array's own memory; small arrays, bfloat16 and arrays on a device are copied one
        # at a time
        flag = each.dtype_flag
        copied = context.device_type == "gpu" or each.size <= _MAX_COPY or NAMES[flag] == "bfloat16"
        values = each.host_copy() if copied else np.asarray(memoryview(each))
        yield struct.pack(
            f"<IiI{values.ndim}qiii",
            _MAGIC_V3 if is_np_shape() or not values.ndim else _MAGIC_V2,
            0,
            values.ndim,
            *values.shape,
            context.device_typeid,
            context.device_id,
            flag,
        )
        if values.size:
            stored = values.astype(_FILE_DTYPES[flag], copy=False)
            yield memoryview(stored.view(np.uint16) if stored.dtype.names else stored).cast("B")
    encoded = [name.encode("utf-8") for name in names]
    yield struct.pack("<Q", len(encoded)) + b"".join(struct.pack("<Q", len(n)) + n for n in encoded)


def _sparse_chunks(array):
    values, aux = array.parts()
    host, context = values.host_copy(), values.context
    yield struct.pack("<Ii", _MAGIC_V2, _FLAG_BY_STYPE[array.stype])
    yield _shape_as_bytes(host.shape) + _shape_as_bytes(array.shape)
    yield struct.pack("<iii", context.device_typeid, context.device_id, values.dtype_flag)
    for each in aux:
        yield struct.pack("<i", _INDEX_DTYPE_FLAGS[1]) + _shape_as_bytes(each.shape)
    for each in (host, *aux):
        yield each.astype(each.dtype.newbyteorder("<"), copy=False).tobytes()


def _shape_as_bytes(shape):
    return struct.pack(f"<I{len(shape)}q", len(shape), *shape)


def _is_unicode(name):
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _arrays_and_names(data):
    """The arguments of save as lists of arrays and names; no names: an empty list."""
    if isinstance(data, NDArray):
        data = [data]
    if isinstance(data, dict):
        names, arrays = list(data), list(data.values())
        wrong = [name for name in names if not isinstance(name, str)]
        if wrong:
            raise ArgumentTypeError(f"save: the names must be str, got {shown(wrong[0])}")
        wrong = [name for name in names if not _is_unicode(name)]
        if wrong:
            raise ArgumentError(f"save: the name {shown(wrong[0])} has no form in UTF-8")
    elif isinstance(data, (list, tuple)):
        names, arrays = [], list(data)
    else:
        raise ArgumentTypeError(
            "save takes an NDArray, a list of NDArray or a dict of str to NDArray, got "
            f"{type(data).__name__}"
        )
    for i, each in enumerate(arrays):
        label = shown(names[i]) if names else f"entry {i}"
        if not isinstance(each, NDArray):
            raise ArgumentTypeError(f"save: {label} must be an NDArray, got {type(each).__name__}")
    return arrays, names


@guarded
def save(fname: FileName, data: NDArray | Sequence[NDArray] | Mapping[str, NDArray]) -> None:
    """Write arrays to a file in MXNet's ``.params`` format, whole or not at all.

    Parameters
    ----------
    fname : str or path
        The file; ``.npz`` or ``.safetensors`` (extra ``safetensors``) at its end is that format.
    data : NDArray, list of NDArray or dict of str to NDArray
        What to save.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        When `data` is something else, or an array without elements.
    FileError
        When the file cannot be written; one that was there stays as it was. Also the OSError of
        its kind.

    Examples
    --------
    >>> mx.nd.save("arrays.params", {"x": mx.nd.array([1, 2]), "y": mx.nd.zeros(3)})
    """
    name = file_name(fname, "save: a file name")
    if form := array_file_format(name):
        write_atomically(name, pack_arrays(form, *_arrays_and_names(data), name))
    else:
        write_atomically(name, params_chunks(data))


@guarded
def save_tobuffer(data: NDArray | Sequence[NDArray] | Mapping[str, NDArray]) -> bytes:
    """The bytes that `save` would write.

    Parameters
    ----------
    data : NDArray, list of NDArray or dict of str to NDArray
        What to save.

    Examples
    --------
    >>> len(mx.nd.save_tobuffer(mx.nd.array([1, 2])))
    72
    """
    return b"".join(params_chunks(data))
