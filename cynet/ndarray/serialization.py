"""Saving and loading arrays in MXNet's ``.params`` format, all of it checked while it is read.

The layout, all numbers little-endian::

    file    uint64 0x112, uint64 0, uint64 count, count arrays, uint64 names (0 or count), names
    name    uint64 length, UTF-8 bytes
    array   uint32 0xF993FAC9, int32 0 (dense), shape, context, int32 type flag, data (V2; V3: ..CA)
            uint32 0xF993FAC8, shape, context, int32 type flag, data                  (V1)
            uint32 ndim, ndim uint32, context, int32 type flag, data                  (V0)
    shape   uint32 ndim, ndim int64
    context int32 device type, int32 device index

Written is V2, byte for byte what MXNet 1.9.1 writes. Every array is loaded to the CPU, wherever it
was saved.
"""

import os
import struct

import numpy as np

from ..context import cpu
from ..dtype import NAMES, dtype_flag, numpy_dtype
from ..errors import ArgumentError, ArgumentTypeError, FormatError
from ..files import write_atomically
from .creation import array
from .ndarray import NDArray

_FILE = 0x112
_V1, _V2, _V3 = 0xF993FAC8, 0xF993FAC9, 0xF993FACA
_SPARSE = {1: "row_sparse", 2: "csr"}
_DEVICES = (1, 2, 3, 5)
_MOST_AXES = 8
_LEAST_BYTES = 20  # of one array: magic or ndim, an axis, context, type


# --- reading -------------------------------------------------------------------------------------
class _Reader:
    """A position in a buffer; what does not fit is a FormatError with file and offset."""

    def __init__(self, data, name):
        self.data, self.name, self.at = data, name, 0

    def fail(self, expected, found, at=None):
        raise FormatError(
            f"{self.name}: offset {self.at if at is None else at}: expected {expected}, "
            f"found {found}"
        )

    def left(self):
        return len(self.data) - self.at

    def take(self, n, what):
        """The next n bytes, as a view."""
        if n > self.left():
            self.fail(f"{n} bytes of {what}", f"the end of the file after {self.left()}")
        self.at += n
        return self.data[self.at - n : self.at]

    def numbers(self, layout, what):
        return struct.unpack("<" + layout, self.take(struct.calcsize("<" + layout), what))

    def number(self, layout, what):
        return self.numbers(layout, what)[0]


def _read_shape(reader, ndim, letter, label):
    at = reader.at
    if not 1 <= ndim <= _MOST_AXES:
        found = "an array without a shape" if ndim == 0 else f"{ndim}"
        reader.fail(f"1 to {_MOST_AXES} axes of {label}", found, at - 4)
    shape = reader.numbers(f"{ndim}{letter}", f"shape of {label}")
    if min(shape) <= 0:
        reader.fail(f"positive sizes in the shape of {label}", shape, at)
    return shape


def _read_array(reader, label):
    """The next array of a file as a NumPy view of its bytes."""
    at = reader.at
    magic = reader.number("I", f"{label}'s beginning")
    if magic in (_V2, _V3):
        storage = reader.number("i", f"storage type of {label}")
        if storage != 0:
            if storage in _SPARSE:
                raise FormatError(
                    f"{reader.name}: offset {at}: {label} is {_SPARSE[storage]}; sparse arrays "
                    "cannot be loaded, save it as a dense one (tostype('default'))"
                )
            reader.fail(f"storage type 0 (dense) of {label}", storage, at + 4)
    if magic in (_V1, _V2, _V3):
        shape = _read_shape(reader, reader.number("I", f"number of axes of {label}"), "q", label)
    elif 0 < magic <= _MOST_AXES:
        shape = _read_shape(reader, magic, "I", label)
    else:
        reader.fail(
            f"the beginning of {label} (0x{_V2:X}, 0x{_V1:X} or a number of axes)",
            f"0x{magic:X}",
            at,
        )
    device, index = reader.numbers("ii", f"context of {label}")
    if device not in _DEVICES or index < 0:
        reader.fail(
            f"a device type (one of {_DEVICES}) and index of {label}",
            (device, index),
            reader.at - 8,
        )
    flag = reader.number("i", f"type flag of {label}")
    if not 0 <= flag < len(NAMES):
        reader.fail(f"a type flag from 0 to {len(NAMES) - 1} for {label}", flag, reader.at - 4)
    dtype = numpy_dtype(flag)
    nbytes = dtype.itemsize
    for size in shape:
        nbytes *= size
    data = reader.take(nbytes, f"data of {label} ({dtype}, shape {shape})")
    return np.frombuffer(data, dtype.newbyteorder("<")).reshape(shape)


def _read_name(reader, i):
    at = reader.at
    length = reader.number("Q", f"length of name {i}")
    try:
        return str(reader.take(length, f"name {i}"), "utf-8")
    except UnicodeDecodeError:
        reader.fail(f"UTF-8 in name {i}", "other bytes", at + 8)


def parse(data, name):
    """The NumPy views and names of a ``.params`` file's bytes.

    Parameters
    ----------
    data : bytes-like
    name : str
        What to call it in messages.

    Returns
    -------
    (list of numpy.ndarray, list of str)
        The list of names is empty when the file holds none.

    Raises
    ------
    FormatError
        Naming the offset, what was expected there and what was found.
    """
    reader = _Reader(memoryview(data).cast("B"), name)
    magic = reader.number("Q", "the file's beginning")
    if magic != _FILE:
        reader.fail(f"0x{_FILE:X}, with which a .params file begins", f"0x{magic:X}", 0)
    reader.number("Q", "the reserved field")
    count = reader.number("Q", "the number of arrays")
    if count > reader.left() // _LEAST_BYTES:
        reader.fail(
            f"at most {reader.left() // _LEAST_BYTES} arrays in a file of this size", count, 16
        )
    arrays = [_read_array(reader, f"array {i}") for i in range(count)]
    at = reader.at
    n_names = reader.number("Q", "the number of names")
    if n_names not in (0, count):
        reader.fail(f"no name or {count}", n_names, at)
    names = [_read_name(reader, i) for i in range(n_names)]
    if len(set(names)) != len(names):
        reader.fail("names that differ", next(n for n in names if names.count(n) > 1), at)
    if reader.left():
        reader.fail("the end of the file", f"{reader.left()} more bytes")
    return arrays, names


def _to_arrays(data, name):
    views, names = parse(data, name)
    arrays = [array(view, ctx=cpu(), dtype=view.dtype.newbyteorder("=")) for view in views]
    return dict(zip(names, arrays)) if names else arrays


def load(fname):
    """The arrays of a ``.params`` file.

    Parameters
    ----------
    fname : str or path

    Returns
    -------
    list of NDArray, or dict of str to NDArray
        As they were saved; on the CPU.

    Raises
    ------
    OSError
        When the file cannot be read.
    FormatError
        When it is truncated, corrupt, holds sparse arrays or is no ``.params`` file; the message
        names the file, the offset and what was expected there.

    Examples
    --------
    >>> import os, tempfile
    >>> import cynet as mx
    >>> path = os.path.join(tempfile.mkdtemp(), "x.params")
    >>> mx.nd.save(path, {"w": mx.nd.array([1, 2])})
    >>> mx.nd.load(path)["w"].asnumpy().tolist()
    [1.0, 2.0]
    """
    if not isinstance(fname, (str, os.PathLike)):
        raise ArgumentTypeError(f"load takes a file name, got {type(fname).__name__}")
    name = os.fspath(fname)
    with open(name, "rb") as file:
        return _to_arrays(file.read(), name)


def load_frombuffer(buf):
    """The arrays in the bytes of a ``.params`` file.

    Parameters
    ----------
    buf : bytes-like

    Returns
    -------
    list of NDArray, or dict of str to NDArray

    Raises
    ------
    ArgumentTypeError, FormatError
        As `load`.

    Examples
    --------
    >>> import cynet as mx
    >>> mx.nd.load_frombuffer(b"0123456789")
    Traceback (most recent call last):
    ...
    cynet.errors.FormatError: <buffer>: offset 0: expected 0x112, ... found 0x3736353433323130
    """
    if not isinstance(buf, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"load_frombuffer takes bytes, got {type(buf).__name__}")
    return _to_arrays(buf, "<buffer>")


# --- writing -------------------------------------------------------------------------------------
def _chunks(arrays, names):
    """The bytes of a file, a few large pieces."""
    yield struct.pack("<QQQ", _FILE, 0, len(arrays))
    for each in arrays:
        values = np.ascontiguousarray(each.asnumpy())
        yield struct.pack(
            f"<IiI{values.ndim}qiii",
            _V2,
            0,
            values.ndim,
            *values.shape,
            each.context.device_typeid,
            each.context.device_id,
            dtype_flag(values.dtype),
        )
        yield memoryview(values.astype(values.dtype.newbyteorder("<"), copy=False)).cast("B")
    encoded = [name.encode("utf-8") for name in names]
    yield struct.pack("<Q", len(encoded)) + b"".join(struct.pack("<Q", len(n)) + n for n in encoded)


def _arrays_and_names(data):
    """What save was given as two lists; the list of names is empty when there are none."""
    if isinstance(data, NDArray):
        data = [data]
    if isinstance(data, dict):
        names, arrays = list(data), list(data.values())
        wrong = [name for name in names if not isinstance(name, str)]
        if wrong:
            raise ArgumentTypeError(f"save: the names must be str, got {wrong[0]!r}")
    elif isinstance(data, (list, tuple)):
        names, arrays = [], list(data)
    else:
        raise ArgumentTypeError(
            "save takes an NDArray, a list of NDArray or a dict of str to NDArray, got "
            f"{type(data).__name__}"
        )
    for i, each in enumerate(arrays):
        label = repr(names[i]) if names else f"entry {i}"
        if not isinstance(each, NDArray):
            raise ArgumentTypeError(f"save: {label} is no NDArray but {type(each).__name__}")
        if each.size == 0 or each.ndim == 0:
            raise ArgumentError(f"save: {label} has shape {each.shape}; such arrays have no form")
    return arrays, names


def save(fname, data):
    """Write arrays to a file in MXNet's ``.params`` format, whole or not at all.

    Parameters
    ----------
    fname : str or path
    data : NDArray, list of NDArray or dict of str to NDArray

    Raises
    ------
    ArgumentTypeError, ArgumentError
        When `data` is something else, or an array without elements.
    OSError
        When the file cannot be written; one that was there stays as it was.

    Examples
    --------
    See `load`.
    """
    if not isinstance(fname, (str, os.PathLike)):
        raise ArgumentTypeError(f"save takes a file name, got {type(fname).__name__}")
    write_atomically(fname, _chunks(*_arrays_and_names(data)))


def save_tobuffer(data):
    """The bytes that `save` would write.

    Parameters
    ----------
    data : NDArray, list of NDArray or dict of str to NDArray

    Returns
    -------
    bytes

    Examples
    --------
    >>> import cynet as mx
    >>> len(mx.nd.save_tobuffer(mx.nd.array([1, 2])))
    72
    """
    return b"".join(_chunks(*_arrays_and_names(data)))
