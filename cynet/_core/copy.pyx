"""Copies, fills and rows by index as functions of the engine (contract in copy.pxd)."""

from libc.stdint cimport int64_t
from libc.stdlib cimport free as c_free
from libc.stdlib cimport malloc as c_malloc
from libc.string cimport memcmp, memcpy, memset

from .. cimport _engine
from .._engine cimport VarHandle, complete, kCopy, kInline, kNormal, publish_results
from ..engine.inline cimport MAX_INLINE_COPY_BYTES, MAX_INLINE_PASS_BYTES
from .face cimport ND
from .._ndarray cimport (
    Chunk, NDArrayBase, blob_shape, do_overlap, is_on_host, new_array, same_shape
)
from .sparse_kind cimport refuse_sparse
from .._typedefs cimport RunContext, dtype_size, kBfloat16, kCPU, kCPUPinned, kGPU
from ..cuda.driver cimport check, launch
from ..cuda.transfer cimport (
    Strides, call_after, copy_between_devices, copy_on_gpu, download_later, download_pinned, fill,
    upload, upload_pinned
)
from ..kernels.movement.strided_copy cimport StridedCopy, copy_from_rows, copy_to_rows, copy_strided

import numpy as np

from ..cuda.device import device
from ..base.errors import OutOfMemoryError, ShapeError

# type flag -> C++ type in kernels/strided.cu
cdef dict _CUDA_TYPES = {0: "float", 1: "double", 2: "cynet::half", 3: "unsigned char", 4: "int",
                         5: "signed char", 6: "long long", 7: "bool", kBfloat16: "cynet::bfloat16"}
cdef dict _CUDA_TYPES_BY_WIDTH = {1: "unsigned char", 2: "unsigned short", 4: "int", 8: "long long"}
cdef dict _kernels = {}  # (GPU, instance) -> the kernel from Device.kernel

cdef enum:
    BLOCK_THREADS = 256      # threads
    MAX_BLOCKS = 1 << 16  # maximum number of blocks of a launch


cdef struct CopyTask:
    StridedCopy what
    Chunk* target
    char value[8]  # a fill's element
    # fields that only a GPU's copy uses
    Strides strides
    void* kernel
    size_t nbytes
    bint direct     # the host's array is in pinned memory, so the GPU writes it directly
    int dev_id      # the GPU of the target, or of the source where only that is on a GPU
    void* token     # token of the engine


cdef void _free_task(void* arg) noexcept nogil:
    c_free(arg)


# --- regions --------------------------------------------------------------------------------------
cdef Region whole_region(NDArrayBase array) noexcept:
    cdef Region out
    cdef int64_t stride = 1
    cdef int i
    out.ndim = array.blob.ndim
    out.offset = 0
    for i in range(array.blob.ndim - 1, -1, -1):
        out.shape[i] = array.blob.shape[i]
        out.stride[i] = stride
        stride *= array.blob.shape[i]
    return out


cdef int64_t _region_size(const Region* region) noexcept:
    cdef int64_t size = 1
    cdef int i
    for i in range(region.ndim):
        size *= region.shape[i]
    return size


cdef bint _is_row_major(int ndim, const int64_t* shape, const int64_t* stride) noexcept:
    # Return whether the elements are contiguous, in row-major order.
    cdef int64_t want = 1
    cdef int i
    for i in range(ndim - 1, -1, -1):
        if shape[i] != 1 and stride[i] != want:
            return False
        want *= shape[i]
    return True


cdef NDArrayBase _new_flat_array(const Region* like, int dtype, int dev_type, int dev_id):
    # Return a new one-dimensional array with as many elements as the region.
    cdef int64_t size = _region_size(like)
    cdef NDArrayBase out = new_array(ND, &size, 1, dtype, dev_type, dev_id)
    out.chunk.written = False
    return out


cdef Region _row_major_region(const Region* like) noexcept:
    # Return the region of `_new_flat_array(like)`: the same shape, contiguous.
    cdef Region out = like[0]
    cdef int64_t stride = 1
    cdef int i
    out.offset = 0
    for i in range(like.ndim - 1, -1, -1):
        out.stride[i] = stride
        stride *= like.shape[i]
    return out


def copy_into(NDArrayBase source, NDArrayBase target):
    """Push a copy of `source` into `target`, of the same shape; dtypes and devices may differ."""
    cdef Region to, region
    refuse_sparse(source, "copy")
    refuse_sparse(target, "copy")
    if blob_shape(&source.blob) != blob_shape(&target.blob):
        raise ShapeError(f"copy: source has shape {blob_shape(&source.blob)}, "
                         f"target {blob_shape(&target.blob)}")
    to = whole_region(target)
    region = whole_region(source)
    push_copy(target, &to, source, &region)


def copy_array(NDArrayBase source, int dtype=-1):
    """Return a copy of `source` on its device; `dtype` is a type flag, -1 keeps the dtype."""
    refuse_sparse(source, "copy")
    cdef NDArrayBase target = new_array(
        source.face, source.blob.shape, source.blob.ndim, source.blob.dtype if dtype < 0 else dtype,
        source.blob.dev_type, source.blob.dev_id)
    cdef Region to = whole_region(target)
    cdef Region region = whole_region(source)
    target.chunk.written = target.blob.size == 0
    push_copy(target, &to, source, &region)
    return target


def copy_all(sources, list targets):
    """Push a copy of each array of `sources` into the first array of its list in `targets`.

    Returns int: how many were copied: fewer than there are where the next one is no NDArray, or of
    another shape than its target, or the target itself.
    """
    cdef Py_ssize_t i
    cdef NDArrayBase target, source
    for i in range(len(targets)):
        target = targets[i][0]
        each = sources[i]
        if not isinstance(each, NDArrayBase):
            return i
        source = each
        if source is target or not same_shape(&source.blob, &target.blob):
            return i
        copy_into(source, target)
    return len(targets)


# --- tasks ----------------------------------------------------------------------------------------
cdef CopyTask* _new_copy_task(NDArrayBase dst, const Region* to) except NULL:
    cdef CopyTask* task
    cdef int i
    task = <CopyTask*>c_malloc(sizeof(CopyTask))
    if task == NULL:
        raise OutOfMemoryError("no memory for a copy")
    task.target = dst.chunk
    task.kernel = NULL
    task.dev_id = dst.blob.dev_id
    task.what.dst = <char*>dst.blob.data + to.offset * <int64_t>dtype_size(dst.blob.dtype)
    task.what.dst_type = dst.blob.dtype
    task.what.ndim = to.ndim
    for i in range(to.ndim):
        task.what.shape[i] = to.shape[i]
        task.what.dst_stride[i] = to.stride[i]
    task.nbytes = _region_size(to) * dtype_size(dst.blob.dtype)
    return task


cdef int _set_copy_source(CopyTask* task, NDArrayBase src, const Region* source) except -1:
    cdef int i
    task.what.src = <char*>src.blob.data + source.offset * <int64_t>dtype_size(src.blob.dtype)
    task.what.src_type = src.blob.dtype
    for i in range(source.ndim):
        task.what.src_stride[i] = source.stride[i]
    return 0


cdef int _push_copy_task(_engine.EngineFn run, CopyTask* task, NDArrayBase dst, VarHandle source,
                         int64_t size) except -1:
    cdef VarHandle target = dst.chunk.var
    cdef int n_const = 0 if source == NULL or source == target else 1
    cdef bint host = is_on_host(&dst.blob)
    cdef int flags = kInline if 2 * task.nbytes <= MAX_INLINE_PASS_BYTES or not host else kNormal
    if run == _run_upload:
        flags |= kCopy
    # The engine owns the task from here on, whether or not the push is refused.
    if size <= 4096 and host:
        _engine.push_sync(run, task, _free_task, dst.blob.dev_type, dst.blob.dev_id,
                          &source, n_const, &target, 1, 0, flags, b"copy")
    else:
        with nogil:
            _engine.push_sync(run, task, _free_task, dst.blob.dev_type, dst.blob.dev_id,
                              &source, n_const, &target, 1, 0, flags, b"copy")
    return 0


cdef int _run_copy(void* arg, RunContext* run_ctx) except -1 nogil:
    # The pushing thread (worker 0) wakes no helper for a small copy.
    copy_strided(&(<CopyTask*>arg).what,
                 run_ctx.worker == 0 and (<CopyTask*>arg).nbytes <= MAX_INLINE_COPY_BYTES)
    (<CopyTask*>arg).target.written = True
    return 0


# --- on a GPU -------------------------------------------------------------------------------------
cdef void* _gpu_kernel(int dev_id, str instance) except NULL:
    key = dev_id, instance
    found = _kernels.get(key)
    if found is None:
        found = _kernels[key] = device(dev_id).kernel("strided", instance)
    return <void*><size_t>found.address


cdef int _launch_kernel(CopyTask* task, const void* second, void* stream) except -1 nogil:
    """Launch the kernel of `task` with target, the argument at `second`, and strides."""
    cdef unsigned grid[3]
    cdef unsigned block[3]
    cdef void* params[3]
    cdef int64_t blocks = (task.strides.n + BLOCK_THREADS - 1) // BLOCK_THREADS
    grid[0] = <unsigned>min(blocks, <int64_t>MAX_BLOCKS)
    block[0] = BLOCK_THREADS
    grid[1] = grid[2] = block[1] = block[2] = 1
    params[0], params[1], params[2] = &task.what.dst, <void*>second, &task.strides
    check(launch(task.kernel, grid, block, 0, stream, params), task.dev_id, b"a copy")
    task.target.written = True
    return 0


cdef void _set_kernel_strides(CopyTask* task) noexcept:
    cdef int i
    memset(&task.strides, 0, sizeof(Strides))
    task.strides.n = 1
    task.strides.ndim = task.what.ndim
    for i in range(task.what.ndim):
        task.strides.n *= task.what.shape[i]
        task.strides.shape[i] = task.what.shape[i]
        task.strides.to[i] = task.what.dst_stride[i]
        task.strides.frm[i] = task.what.src_stride[i]


cdef int _run_copy_kernel(void* arg, RunContext* run_ctx) except -1 nogil:
    return _launch_kernel(<CopyTask*>arg, &(<CopyTask*>arg).what.src, run_ctx.stream)


cdef int _run_fill_kernel(void* arg, RunContext* run_ctx) except -1 nogil:
    return _launch_kernel(<CopyTask*>arg, (<CopyTask*>arg).value, run_ctx.stream)


cdef int _run_copy_on_gpu(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef CopyTask* task = <CopyTask*>arg
    copy_on_gpu(run_ctx.dev_id, task.what.dst, task.what.src, task.nbytes)
    task.target.written = True
    return 0


cdef int _run_copy_between_devices(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef CopyTask* task = <CopyTask*>arg
    copy_between_devices(run_ctx.dev_id, task.what.dst, task.dev_id, task.what.src, task.nbytes)
    task.target.written = True
    return 0


cdef int _run_upload(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef CopyTask* task = <CopyTask*>arg
    upload(run_ctx.dev_id, task.what.dst, task.what.src, task.nbytes)
    task.target.written = True
    return 0


cdef void _finish_upload(void* arg, void* error) noexcept nogil:
    complete((<CopyTask*>arg).token, error)


cdef int _run_upload_pinned(void* arg, RunContext* run_ctx, void* token) except -1 nogil:
    # Later work on the GPU's stream may read the target at once; the source stays until it is read.
    cdef CopyTask* task = <CopyTask*>arg
    cdef void* read = upload_pinned(run_ctx.dev_id, task.what.dst, task.what.src, task.nbytes)
    task.token = token
    task.target.written = True
    publish_results(token)
    return call_after(run_ctx.dev_id, read, _finish_upload, task)


cdef int _run_fill(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef CopyTask* task = <CopyTask*>arg
    cdef unsigned word = 0
    cdef int width = task.strides.ndim  # `_push_device_fill` stores the width there
    memcpy(&word, task.value, width)
    fill(run_ctx.dev_id, task.what.dst, word, width, task.nbytes)
    task.target.written = True
    return 0


cdef void _finish_download(void* arg, void* error) noexcept nogil:
    cdef CopyTask* task = <CopyTask*>arg
    if error == NULL:
        task.target.written = True
    complete(task.token, error)


cdef int _run_download(void* arg, RunContext* run_ctx, void* token) except -1 nogil:
    cdef CopyTask* task = <CopyTask*>arg
    task.token = token
    if task.direct:
        return download_pinned(task.dev_id, task.what.dst, task.what.src, task.nbytes,
                               _finish_download, task)
    return download_later(task.dev_id, task.what.src, task.nbytes, &task.what, _finish_download,
                          task)


cdef int _push_download(NDArrayBase dst, const Region* to, NDArrayBase src,
                        const Region* source) except -1:
    # Push a copy from a GPU's contiguous region to the host; done when the bytes have arrived.
    cdef CopyTask* task = _new_copy_task(dst, to)
    cdef Region packed = _row_major_region(source)
    cdef VarHandle origin = src.chunk.var
    cdef VarHandle target = dst.chunk.var
    _set_copy_source(task, src, &packed)
    task.what.src = <char*>src.blob.data + source.offset * <int64_t>dtype_size(src.blob.dtype)
    task.nbytes = _region_size(to) * dtype_size(src.blob.dtype)
    task.dev_id = src.blob.dev_id
    task.direct = (dst.blob.dev_type == kCPUPinned and dst.blob.dtype == src.blob.dtype
                   and _is_row_major(to.ndim, to.shape, to.stride))
    with nogil:
        _engine.push_async(_run_download, task, _free_task, kGPU, src.blob.dev_id, &origin, 1,
                           &target, 1, 0, kInline, b"copy")
    return 0


cdef int _push_upload_pinned(NDArrayBase dst, const Region* to, NDArrayBase src,
                             const Region* source) except -1:
    # Push a copy from the pinned memory of `src` to a GPU; it is done when the GPU has read it.
    cdef CopyTask* task = _new_copy_task(dst, to)
    cdef VarHandle origin = src.chunk.var
    cdef VarHandle target = dst.chunk.var
    _set_copy_source(task, src, source)
    with nogil:
        _engine.push_async(_run_upload_pinned, task, _free_task, kGPU, dst.blob.dev_id, &origin, 1,
                           &target, 1, 0, kInline, b"copy")
    return 0


cdef int _push_device_copy(NDArrayBase dst, const Region* to, NDArrayBase src,
                           const Region* source) except -1:
    """`push_copy` where an array is on a GPU; the two arrays do not overlap."""
    cdef bint plain_from = _is_row_major(source.ndim, source.shape, source.stride)
    cdef bint plain_to = _is_row_major(to.ndim, to.shape, to.stride)
    cdef bint same = dst.blob.dtype == src.blob.dtype
    cdef NDArrayBase between
    cdef Region packed = _row_major_region(to)
    cdef _engine.EngineFn run
    cdef CopyTask* task
    cdef void* kernel = NULL
    if src.blob.dev_type != kGPU:
        if not plain_from or not same:  # first contiguous and of the dtype, on the host
            between = _new_flat_array(to, dst.blob.dtype, kCPU, 0)
            push_copy(between, &packed, src, source)
            return push_copy(dst, to, between, &packed)
        if not plain_to:  # then the GPU scatters the bytes
            between = _new_flat_array(to, dst.blob.dtype, kGPU, dst.blob.dev_id)
            push_copy(between, &packed, src, source)
            return push_copy(dst, to, between, &packed)
        if src.blob.dev_type == kCPUPinned:
            return _push_upload_pinned(dst, to, src, source)
        run = _run_upload
    elif dst.blob.dev_type != kGPU or dst.blob.dev_id != src.blob.dev_id:
        if not plain_from:  # first make the elements contiguous, on the GPU
            between = _new_flat_array(to, src.blob.dtype, kGPU, src.blob.dev_id)
            push_copy(between, &packed, src, source)
            return push_copy(dst, to, between, &packed)
        if dst.blob.dev_type != kGPU:
            return _push_download(dst, to, src, source)
        if not plain_to or not same:
            between = _new_flat_array(to, src.blob.dtype, kGPU, dst.blob.dev_id)
            push_copy(between, &packed, src, source)
            return push_copy(dst, to, between, &packed)
        run = _run_copy_between_devices
    elif plain_from and plain_to and same:
        run = _run_copy_on_gpu
    else:
        run = _run_copy_kernel
    if run == _run_copy_kernel:
        kernel = _gpu_kernel(dst.blob.dev_id,
                             f"assign<{_CUDA_TYPES[dst.blob.dtype]}, "
                             f"{_CUDA_TYPES[src.blob.dtype]}>")
    task = _new_copy_task(dst, to)
    task.kernel = kernel
    _set_copy_source(task, src, source)
    _set_kernel_strides(task)
    if run == _run_copy_between_devices:
        task.dev_id = src.blob.dev_id
    return _push_copy_task(run, task, dst, src.chunk.var, _region_size(to))


cdef int _push_device_fill(NDArrayBase dst, const Region* to, const char* value) except -1:
    """Fill a GPU's array with the element at `value`, of 8 bytes with zeros at the end."""
    cdef int width = <int>dtype_size(dst.blob.dtype)
    cdef int i, narrow
    cdef CopyTask* task
    cdef void* kernel = NULL
    narrow = width
    while narrow > 1 and memcmp(value, value + narrow // 2, narrow // 2) == 0:
        narrow //= 2  # the driver's fill repeats a pattern of at most 4 bytes
    if not _is_row_major(to.ndim, to.shape, to.stride) or narrow == 8:
        kernel = _gpu_kernel(dst.blob.dev_id, f"fill<{_CUDA_TYPES_BY_WIDTH[width]}>")
    task = _new_copy_task(dst, to)
    task.kernel = kernel
    memcpy(task.value, value, 8)
    for i in range(to.ndim):
        task.what.src_stride[i] = 0
    _set_kernel_strides(task)
    if kernel == NULL:
        task.strides.ndim = narrow
        return _push_copy_task(_run_fill, task, dst, NULL, _region_size(to))
    return _push_copy_task(_run_fill_kernel, task, dst, NULL, _region_size(to))


# --- entry points ---------------------------------------------------------------------------------
cdef int push_copy(NDArrayBase dst, const Region* to, NDArrayBase src,
                   const Region* source) except -1:
    cdef CopyTask* task
    cdef NDArrayBase between
    cdef Region packed
    cdef int64_t size = _region_size(to)
    refuse_sparse(dst, "copy")
    refuse_sparse(src, "copy")
    if size == 0:
        return 0
    if do_overlap(dst, src):
        between = _new_flat_array(source, src.blob.dtype, src.blob.dev_type, src.blob.dev_id)
        packed = _row_major_region(source)
        push_copy(between, &packed, src, source)
        return push_copy(dst, to, between, &packed)
    if dst.blob.dev_type == kGPU or src.blob.dev_type == kGPU:
        return _push_device_copy(dst, to, src, source)
    task = _new_copy_task(dst, to)
    _set_copy_source(task, src, source)
    return _push_copy_task(_run_copy, task, dst, src.chunk.var, size)


cdef int push_fill(NDArrayBase dst, const Region* to, const void* value, int src_type) except -1:
    cdef CopyTask* task
    cdef StridedCopy one
    cdef char converted[8]
    cdef int64_t size = _region_size(to)
    cdef int i
    refuse_sparse(dst, "a fill")
    if size == 0:
        return 0
    if dst.blob.dev_type == kGPU:
        memset(converted, 0, 8)
        one.dst, one.src, one.dst_type, one.src_type = converted, value, dst.blob.dtype, src_type
        one.ndim = 0
        copy_strided(&one, True)
        return _push_device_fill(dst, to, converted)
    task = _new_copy_task(dst, to)
    memcpy(task.value, value, dtype_size(src_type))
    task.what.src = task.value
    task.what.src_type = src_type
    for i in range(to.ndim):
        task.what.src_stride[i] = 0
    return _push_copy_task(_run_copy, task, dst, NULL, size)


cdef int copy_from_host(NDArrayBase dst, const Region* to, const void* src, int src_type,
                        const int64_t* src_stride) except -1:
    cdef CopyTask* task
    cdef NDArrayBase between
    cdef Region packed
    cdef int64_t size = _region_size(to)
    cdef int i
    if size == 0:
        return 0
    if dst.blob.dev_type == kGPU and not (
            src_type == dst.blob.dtype and _is_row_major(to.ndim, to.shape, src_stride)
            and _is_row_major(to.ndim, to.shape, to.stride)):
        between = _new_flat_array(to, dst.blob.dtype, kCPU, 0)
        packed = _row_major_region(to)
        copy_from_host(between, &packed, src, src_type, src_stride)
        return push_copy(dst, to, between, &packed)
    task = _new_copy_task(dst, to)
    task.what.src = src
    task.what.src_type = src_type
    for i in range(to.ndim):
        task.what.src_stride[i] = src_stride[i]
    _push_copy_task(_run_upload if dst.blob.dev_type == kGPU else _run_copy, task, dst, NULL, size)
    return dst.wait_read()


# --- rows by index --------------------------------------------------------------------------------
cdef struct RowCopyTask:  # a copy of rows out of an array, or back into it
    char* array     # the indexed array's memory
    char* picked_rows   # the picked rows, `step` bytes apart
    Chunk* target
    int64_t n
    int64_t nbytes  # bytes of a row
    int64_t step
    bint scatter
    void* kernel    # kernel of a GPU
    void* row_indices   # row indices on the GPU
    int64_t rows[1]


cdef int _run_row_copy(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef RowCopyTask* task = <RowCopyTask*>arg
    cdef bint serial = run_ctx.worker == 0 and task.n * task.nbytes <= MAX_INLINE_COPY_BYTES
    if task.scatter:
        copy_to_rows(
            task.array, task.picked_rows, task.step, task.rows, task.n, task.nbytes, serial)
    else:
        copy_from_rows(task.picked_rows, task.array, task.rows, task.n, task.nbytes, serial)
    task.target.written = True
    return 0


cdef int _run_row_copy_kernel(void* arg, RunContext* run_ctx) except -1 nogil:
    cdef RowCopyTask* task = <RowCopyTask*>arg
    cdef unsigned grid[3]
    cdef unsigned block[3]
    cdef void* params[5]
    cdef int64_t blocks = (task.n * task.nbytes + BLOCK_THREADS - 1) // BLOCK_THREADS
    grid[0] = <unsigned>min(blocks, <int64_t>MAX_BLOCKS)
    block[0] = BLOCK_THREADS
    grid[1] = grid[2] = block[1] = block[2] = 1
    params[0], params[1], params[2] = &task.picked_rows, &task.array, &task.row_indices
    params[3], params[4] = &task.n, &task.nbytes
    check(launch(task.kernel, grid, block, 0, run_ctx.stream, params), run_ctx.dev_id, b"indexing")
    task.target.written = True
    return 0


cdef int copy_rows(NDArrayBase array, NDArrayBase picked, const int64_t* rows, int64_t n,
                   int64_t nbytes, bint scatter) except -1:
    cdef RowCopyTask* task
    cdef NDArrayBase row_indices = None
    cdef VarHandle sources[2]
    cdef VarHandle target
    cdef void* kernel = NULL
    cdef int n_sources = 1, flags
    cdef bint gpu = array.blob.dev_type == kGPU
    if picked.blob.size == 0:
        return 0
    if gpu:
        kernel = _gpu_kernel(array.blob.dev_id, "scatter_rows" if scatter else "gather_rows")
        row_indices = _upload_row_indices(rows, n, array.blob.dev_id)
    task = <RowCopyTask*>c_malloc(sizeof(RowCopyTask) + (0 if gpu else n * sizeof(int64_t)))
    if task == NULL:
        raise OutOfMemoryError("no memory for a copy")
    task.array = <char*>array.blob.data
    task.picked_rows = <char*>picked.blob.data
    task.target = array.chunk if scatter else picked.chunk
    task.n = n
    task.nbytes = nbytes
    task.step = 0 if picked.blob.size * dtype_size(picked.blob.dtype) < n * nbytes else nbytes
    task.scatter = scatter
    task.kernel = kernel
    sources[0] = picked.chunk.var if scatter else array.chunk.var
    target = array.chunk.var if scatter else picked.chunk.var
    if gpu:
        task.row_indices = row_indices.blob.data
        sources[1] = row_indices.chunk.var
        n_sources = 2
    else:
        memcpy(task.rows, rows, n * sizeof(int64_t))
    flags = kInline if gpu or 2 * n * nbytes <= MAX_INLINE_PASS_BYTES else kNormal
    with nogil:
        _engine.push_sync(_run_row_copy_kernel if gpu else _run_row_copy, task, _free_task,
                          array.blob.dev_type, array.blob.dev_id, sources, n_sources, &target, 1,
                          0, flags, b"index")
    return 0


cdef NDArrayBase _upload_row_indices(const int64_t* rows, int64_t n, int dev_id):
    cdef NDArrayBase out = new_array(ND, &n, 1, 6, kGPU, dev_id)
    cdef Region to = whole_region(out)
    copy_from_host(out, &to, rows, out.blob.dtype, to.stride)
    return out


def last_position_per_row(rows):
    """Return the last position of each index in `rows`: one thread writes a repeated row."""
    _, last = np.unique(rows[::-1], return_index=True)
    return np.sort(len(rows) - 1 - last)
