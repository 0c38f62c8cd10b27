"""Lends an operator's tensors to Python code as NDArrays, for as long as one call lasts.

The engine holds the variables of the real arrays while an operator runs, so a Python operator that
waited on them would wait for itself. What it gets are NDArrays of their own variables over the same
memory: reading, writing and any nd function work inside the call; `end_loans` then waits for all of
it.

Nobody has that memory afterwards. Arrays and views of them that the user's code keeps get memory of
their own when they are taken back; whoever wants a pointer (a buffer, DLPack, `data_ptr`) gets one
into memory of its own at once, from which a target is copied back.
"""

from ..._engine cimport VarHandle, wait_to_write
from ..._core.face cimport ND
from ..._ndarray cimport NDArrayBase, new_array, wrap_memory
from libc.stdint cimport int64_t

from .._base cimport Blob

from ..._ndarray import begin_loan, end_loan
from ...base.dtype import dtype_flag


def lend(list blobs, owner, bint targets=False):
    """Lend `blobs` as NDArrays over their memory, which `owner` keeps alive; None stays None.

    `targets`: the call may write there.
    """
    cdef Blob blob
    cdef list out = []
    for item in blobs:
        if item is None:
            out.append(None)
            continue
        blob = item
        array = wrap_memory(ND, blob.blob.data, blob.blob.shape, blob.blob.ndim,
                            blob.blob.dtype, blob.blob.dev_type, blob.blob.dev_id, owner)
        begin_loan(array, targets)
        out.append(array)
    return out


def ones(shape, dtype, ctx):
    """Return an NDArray of ones: the output's gradient for a loss, which gets none."""
    cdef int64_t dims[8]
    for i, n in enumerate(shape):
        dims[i] = n
    out = new_array(
        ND, dims, len(shape), dtype_flag(dtype), ctx.device_typeid, ctx.device_id)
    out[:] = 1
    return out


def end_loans(tuple lists, bint quiet=False):
    """Wait for all engine functions that use lent arrays; raise their error unless `quiet`.

    An array that the user's code keeps beyond the call, itself or as a view, gets a copy of the
    memory, so that it never shows what others write there later, nor writes there.
    """
    cdef list arrays
    error = None
    for arrays in lists:
        error = _wait_for_arrays(arrays, error)
    for arrays in lists:
        for i in range(len(arrays)):
            if arrays[i] is not None:
                end_loan(arrays, i)
    if error is not None and not quiet:
        raise error


cdef object _wait_for_arrays(list arrays, object error):
    """Wait for the engine functions that use the arrays; return the first error, or `error`."""
    cdef VarHandle var
    for item in arrays:
        if item is None:
            continue
        var = (<NDArrayBase>item).chunk.var
        try:
            with nogil:
                wait_to_write(var)
        except BaseException as failure:
            error = error or failure
    return error
