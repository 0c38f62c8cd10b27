"""Rows of an array by a mask or by indices (contract in picked_rows.pxd)."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free as c_free
from libc.stdlib cimport malloc as c_malloc
from libc.string cimport memcpy

from .. cimport _engine
from .._engine cimport VarHandle, kInline, kNormal
from .._ndarray cimport Chunk, NDArrayBase, new_array
from .._typedefs cimport MAX_NDIM, RunContext, dtype_size
from ..engine.inline cimport MAX_INLINE_COPY_BYTES, MAX_INLINE_PASS_BYTES
from ..kernels.movement.marked_rows cimport count_marked, gather_marked, mark_block_count
from ..kernels.movement.strided_copy cimport copy_from_rows
from ..kernels.parallel cimport threads_if_awake, threads_for

from ..base.errors import OutOfMemoryError, ShapeError


cdef struct PickTask:  # a copy of the rows that a mask or indices pick
    char* to
    const char* source
    const char* by     # marks, or numbers
    Chunk* target
    int64_t n          # number of marks or of indices
    int64_t nbytes     # bytes of a row
    int64_t total      # number of marked rows
    int64_t starts[1]


cdef void _free_task(void* arg) noexcept nogil:
    c_free(arg)


cdef int _push_pick_task(_engine.EngineFn run, PickTask* task, NDArrayBase out, NDArrayBase array,
                         NDArrayBase other, int64_t touched) except -1:
    # `touched`: number of bytes read and written. `other`, which is read as well, may be None.
    cdef VarHandle sources[2]
    cdef VarHandle target = out.chunk.var
    cdef int n_sources = 1
    cdef int flags = kInline if touched <= MAX_INLINE_PASS_BYTES else kNormal
    out.chunk.written = False
    task.to, task.source = <char*>out.blob.data, <const char*>array.blob.data
    task.target = out.chunk
    sources[0] = array.chunk.var
    if other is not None and other.chunk != array.chunk:
        sources[1] = other.chunk.var
        n_sources = 2
    with nogil:
        _engine.push_sync(run, task, _free_task, array.blob.dev_type, array.blob.dev_id, sources,
                          n_sources, &target, 1, 0, flags, b"index")
    return 0


# --- by a mask ------------------------------------------------------------------------------------
cdef int _run_rows_by_mask(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef PickTask* task = <PickTask*>arg
    cdef int64_t work = task.n + task.total * task.nbytes // 4
    cdef bint serial = run_ctx.worker == 0 and work <= MAX_INLINE_COPY_BYTES // 4
    gather_marked(threads_if_awake(work) if serial else threads_for(work), task.to, task.source,
                  task.by, task.n, task.nbytes, task.starts, task.total)
    task.target.written = True
    return 0


cdef NDArrayBase rows_by_mask(NDArrayBase array, int axes, NDArrayBase mask, const char* marks):
    cdef int64_t shape[MAX_NDIM]
    cdef int64_t n = 1, nbytes = dtype_size(array.blob.dtype), starts_end
    cdef int i
    cdef NDArrayBase out
    cdef PickTask* task
    for i in range(array.blob.ndim):
        if i < axes:
            n *= array.blob.shape[i]
        else:
            shape[i - axes + 1] = array.blob.shape[i]
            nbytes *= array.blob.shape[i]
    starts_end = sizeof(PickTask) + mark_block_count(n) * sizeof(int64_t)
    task = <PickTask*>c_malloc(starts_end + (n if mask is None else 0))
    if task == NULL:
        raise OutOfMemoryError("no memory for the rows that a mask marks")
    try:
        if mask is None:
            task.by = <char*>task + starts_end
            memcpy(<char*>task + starts_end, marks, n)
        else:
            mask.wait_read()
            task.by = marks
        with nogil:
            shape[0] = count_marked(threads_for(n // 8), task.by, n, task.starts)
        out = new_array(array.face, shape, array.blob.ndim - axes + 1, array.blob.dtype,
                        array.blob.dev_type, array.blob.dev_id)
    except BaseException:
        c_free(task)
        raise
    if out.blob.size == 0:
        c_free(task)
        return out
    task.n, task.nbytes, task.total = n, nbytes, shape[0]
    _push_pick_task(_run_rows_by_mask, task, out, array, mask, n + 2 * shape[0] * nbytes)
    return out


# --- by indices -----------------------------------------------------------------------------------
cdef int _run_rows_by_index(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef PickTask* task = <PickTask*>arg
    cdef bint serial = run_ctx.worker == 0 and task.n * task.nbytes <= MAX_INLINE_COPY_BYTES
    copy_from_rows(task.to, task.source, <const int64_t*>task.by, task.n, task.nbytes, serial)
    task.target.written = True
    return 0


cdef NDArrayBase rows_by_index(NDArrayBase array, NDArrayBase numbers):
    cdef int64_t shape[MAX_NDIM]
    cdef int64_t nbytes = dtype_size(array.blob.dtype)
    cdef int i, ndim = numbers.blob.ndim + array.blob.ndim - 1
    cdef NDArrayBase out
    cdef PickTask* task
    if ndim > MAX_NDIM:
        raise ShapeError(f"an NDArray has at most {MAX_NDIM} axes, the index gives {ndim}")
    for i in range(numbers.blob.ndim):
        shape[i] = numbers.blob.shape[i]
    for i in range(1, array.blob.ndim):
        shape[numbers.blob.ndim + i - 1] = array.blob.shape[i]
        nbytes *= array.blob.shape[i]
    out = new_array(array.face, shape, ndim, array.blob.dtype, array.blob.dev_type,
                    array.blob.dev_id)
    if out.blob.size == 0:
        return out
    task = <PickTask*>c_malloc(sizeof(PickTask))
    if task == NULL:
        raise OutOfMemoryError("no memory for a copy")
    task.by = <const char*>numbers.blob.data
    task.n, task.nbytes = numbers.blob.size, nbytes
    _push_pick_task(_run_rows_by_index, task, out, array, numbers, 2 * task.n * nbytes)
    return out
