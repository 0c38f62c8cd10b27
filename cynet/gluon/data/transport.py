"""Transport of batches between processes: arrays in shared memory, the rest through a pipe.

A block of memory is a file without a name (memfd): it is gone as soon as no process has it, however
the processes ended.
"""

import mmap
import os
import pickle
from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler

import numpy as np

from ... import ndarray as nd
from ...base.dtype import BFLOAT16
from ...base.interrupts import delay_interrupts
from ...ndarray import NDArray
from ...ndarray.sparse.arrays import BaseSparseNDArray, make_sparse
from .batchify import host_array

_MAX_INLINE_BYTES = 64 << 10  # larger batches use shared memory
_ALIGNMENT_BYTES = 64  # of arrays in shared memory
_HAS_MEMFD = hasattr(os, "memfd_create")  # whether the system has it


def load_pickled(content):
    """Unpickle an object that another process of the same loader has pickled."""
    return pickle.loads(content)


class _PackedArray:  # offset, shape and dtype of an array in a batch message
    """Describes an array in a message: offset in the memory block, shape, dtype."""

    __slots__ = ("dtype", "is_numpy", "offset", "shape")

    def __init__(self, offset, shape, dtype, is_numpy):
        self.offset, self.shape, self.dtype, self.is_numpy = offset, shape, dtype, is_numpy

    def __reduce__(self):
        return _PackedArray, (self.offset, self.shape, self.dtype, self.is_numpy)


def pack_batch(batch, numpy_stays=True):
    """Convert a batch, arrays and other values in lists, tuples and dicts, for `send_batch`.

    NumPy's arrays are NDArrays at the other end unless `numpy_stays`: a batchify_fn of the user's
    gave them.

    All that runs code of the user's, or needs memory, is done here: what `send_batch` raises is the
    pipe's.
    """
    arrays, size = [], 0

    def pack_value(value, is_numpy=numpy_stays):
        nonlocal size
        if isinstance(value, BaseSparseNDArray):
            values, structure = value.parts()
            parts = [pack_value(values), *(pack_value(each, True) for each in structure)]
            return _PackedSparse(value.stype, value.shape, parts)
        if isinstance(value, NDArray):
            value, is_numpy = value.host_copy(), False
        if isinstance(value, np.ndarray) and (
            value.dtype.kind in "biuf" or value.dtype == BFLOAT16
        ):
            value = np.ascontiguousarray(value)
            arrays.append((size, value))
            out = _PackedArray(size, value.shape, value.dtype, is_numpy)
            size += -(-value.nbytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
            return out
        return _map_nested(value, pack_value)

    structure = bytes(ForkingPickler.dumps(pack_value(batch)))
    if not _HAS_MEMFD or size <= _MAX_INLINE_BYTES:
        block = bytearray(size)
        for offset, value in arrays:
            block[offset : offset + value.nbytes] = value.reshape(-1).view(np.uint8).data
        return structure, bytes(block), None
    number = os.memfd_create("cynet-batch", os.MFD_CLOEXEC)
    try:
        os.ftruncate(number, size)
        with mmap.mmap(number, size) as memory:
            for offset, value in arrays:
                memory[offset : offset + value.nbytes] = value.reshape(-1).view(np.uint8).data
    except BaseException:
        os.close(number)
        raise
    return structure, size, number


class _PackedSparse:  # a sparse array in a batch message
    """Describes a sparse array in a message: values, then indices, as `_PackedArray`s."""

    __slots__ = ("parts", "shape", "stype")

    def __init__(self, stype, shape, parts):
        self.stype, self.shape, self.parts = stype, shape, parts

    def __reduce__(self):
        return _PackedSparse, (self.stype, self.shape, self.parts)


def send_batch(connection, header, content):
    """Send a `header` of plain values, and the result of `pack_batch`."""
    structure, block, number = content
    try:
        connection.send((header, structure, block))
        if number is not None:
            reduction.send_handle(connection, number, None)
    finally:
        if number is not None:
            os.close(number)


def receive_batch(connection):
    """Receive (header, content); `unpack_batch` makes the batch from the content."""
    header, structure, block = connection.recv()
    if isinstance(block, int):
        with delay_interrupts():
            number = reduction.recv_handle(connection)
            try:
                block = mmap.mmap(number, block)
            finally:
                os.close(number)
    return header, (structure, block)


def unpack_batch(content):
    """Rebuild a batch with NDArrays; errors from unpickling a user's objects pass through."""
    structure, block = content

    def unpack_value(value):
        if isinstance(value, _PackedArray):
            count = int(np.prod(value.shape, dtype=np.int64))
            found = np.frombuffer(block, value.dtype, count, value.offset).reshape(value.shape)
            if value.is_numpy:
                return found if found.flags.writeable else found.copy()
            if value.dtype == BFLOAT16:
                return nd.array(found, dtype=BFLOAT16)
            if isinstance(block, mmap.mmap) and count:
                return nd.from_numpy(found)
            return host_array(found)
        if isinstance(value, _PackedSparse):
            values, *structure = map(unpack_value, value.parts)
            *indptr, indices = structure
            return make_sparse(value.stype, value.shape, values, indices, *indptr)
        return _map_nested(value, unpack_value)

    return unpack_value(load_pickled(structure))


def _map_nested(value, function):
    """Apply `function` to the parts of a list, tuple or dict; return other values unchanged."""
    if isinstance(value, dict):
        return type(value)((key, function(each)) for key, each in value.items())
    if isinstance(value, tuple):
        parts = [function(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [function(each) for each in value]
    return value
