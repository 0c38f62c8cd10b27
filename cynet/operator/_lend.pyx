"""Lends an operator's tensors to Python code as NDArrays, for as long as one call lasts.

The engine holds the variables of the real arrays while an operator runs, so a Python operator that
waited on them would wait for itself. What it gets are NDArrays of their own variables over the same
memory: reading, writing and any nd function work inside the call; `take_back` then waits for all of
it.
"""

from cpython.ref cimport Py_REFCNT

from .._engine cimport VarHandle, wait_to_write
from .._ndarray cimport NDArrayBase, new_array, wrap_foreign
from .._typedefs cimport dtype_size, kGPU
from ..cuda.transfer cimport move
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from ._base cimport Blob

from ..dtype import dtype_flag


def lend(list blobs, owner):
    """NDArrays over the memory of `blobs`, which `owner` keeps alive; None stays None."""
    cdef Blob blob
    cdef list out = []
    for item in blobs:
        if item is None:
            out.append(None)
            continue
        blob = item
        out.append(wrap_foreign(blob.blob.data, blob.blob.shape, blob.blob.ndim, blob.blob.dtype,
                                blob.blob.dev_type, blob.blob.dev_id, owner))
    return out


def scratch(shape, dtype, ctx):
    """An NDArray of new memory, for a gradient that is computed although nobody wants it."""
    cdef int64_t dims[8]
    for i, n in enumerate(shape):
        dims[i] = n
    return new_array(dims, len(shape), dtype_flag(dtype), ctx.device_typeid, ctx.device_id)


def take_back(tuple lists, bint quiet=False):
    """Wait for everything pushed on lent arrays; raises what failed there unless `quiet`.

    An array that the user's code keeps beyond the call gets a copy of the memory, so that it never
    shows what others write there later. (A view of one keeps the memory itself alive, as it is
    then.)
    """
    cdef NDArrayBase array
    cdef VarHandle var
    cdef list arrays
    error = None
    for arrays in lists:
        for item in arrays:
            if item is None:
                continue
            array = item
            var = array.chunk.var
            try:
                with nogil:
                    wait_to_write(var)
            except BaseException as failure:
                error = error or failure
    for arrays in lists:
        for i in range(len(arrays)):
            if arrays[i] is not None:
                array = arrays[i]
                arrays[i] = None
                if Py_REFCNT(array) > 1:  # not held by `array` alone: the user's code kept it
                    _own(array)
    if error is not None and not quiet:
        raise error


cdef int _own(NDArrayBase array) except -1:
    """Move a lent array to memory of its own."""
    cdef NDArrayBase copy = new_array(array.blob.shape, array.blob.ndim, array.blob.dtype,
                                      array.blob.dev_type, array.blob.dev_id)
    cdef size_t nbytes = array.blob.size * dtype_size(array.blob.dtype)
    if array.blob.dev_type == kGPU:
        move(array.blob.dev_id, copy.blob.data, array.blob.data, nbytes)
    else:
        memcpy(copy.blob.data, array.blob.data, nbytes)
    array.chunk, copy.chunk = copy.chunk, array.chunk
    array.blob.data, copy.blob.data = copy.blob.data, array.blob.data
    return 0
