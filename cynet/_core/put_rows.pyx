"""Rows of one array copied into rows of another, in engine order."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from .. cimport _engine
from .._engine cimport VarHandle, kNormal
from .._ndarray cimport NDArrayBase, is_on_host
from .._typedefs cimport RunContext, dtype_size

from ..base.errors import ArgumentError, OutOfMemoryError

cdef struct PutRowsTask:  # a copy of source rows into given rows of a target
    char* to
    const char* source
    int64_t nbytes  # bytes of a row
    int64_t n
    int64_t rows[1]


cdef int _run_task(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef PutRowsTask* task = <PutRowsTask*>arg
    cdef int64_t i
    for i in range(task.n):
        memcpy(task.to + task.rows[i] * task.nbytes, task.source + i * task.nbytes, task.nbytes)
    return 0


cdef void _free_task(void* arg) noexcept nogil:
    free(arg)


def put_rows(NDArrayBase target not None, NDArrayBase source not None, const int64_t[::1] rows):
    """Push ``target[rows] = source``; both on the host, of one dtype and shape of rows.

    Raises
    ------
    ArgumentError
        For arrays that are not alike, and a row that is not there.
    """
    cdef int64_t n = rows.shape[0], i, height = target.blob.shape[0] if target.blob.ndim else 0
    cdef PutRowsTask* task
    cdef VarHandle read = source.chunk.var, write = target.chunk.var
    if (source.shape != (n, *target.shape[1:]) or source.blob.dtype != target.blob.dtype
            or not is_on_host(&target.blob) or not is_on_host(&source.blob) or read == write):
        raise ArgumentError(f"put_rows: {n} rows from shape {source.shape} to {target.shape}")
    if target.blob.size == 0 or n == 0:
        return
    task = <PutRowsTask*>malloc(sizeof(PutRowsTask) + n * sizeof(int64_t))
    if task == NULL:
        raise OutOfMemoryError("no memory for the numbers of rows")
    task.to, task.source, task.n = <char*>target.blob.data, <const char*>source.blob.data, n
    task.nbytes = target.blob.size // height * dtype_size(target.blob.dtype)
    for i in range(n):
        if not 0 <= rows[i] < height:
            free(task)
            raise ArgumentError(f"put_rows: row {rows[i]} of {height}")
        task.rows[i] = rows[i]
    with nogil:
        _engine.push_sync(_run_task, task, _free_task, target.blob.dev_type, target.blob.dev_id,
                          &read, 1, &write, 1, 0, kNormal, b"put_rows")
