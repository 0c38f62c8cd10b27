"""New arrays filled with one value, with evenly spaced values or with a file's bytes.
"""

from cpython.buffer cimport PyBUF_WRITE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.stdint cimport int64_t

from .._core.copy cimport Region, push_fill, whole_region
from .._core.sparse_kind cimport is_sparse
from .._core.face cimport ND, Face
from .._ndarray cimport NDArrayBase, is_on_host, new_array, read_shape
from .._typedefs cimport MAX_NDIM, dtype_size, kFloat64
from ..kernels.movement.arange cimport run_progression

from ..context import Context, current_context, read_context
from ..base.dtype import dtype_flag

cdef extern from *:
    """
    #include <string.h>
    #if defined(_WIN32)
    static void cynet_give_tail(char* p, size_t n, size_t capacity) {}
    #else
    #include <sys/mman.h>
    #include <unistd.h>
    // Give pages behind the first n bytes of a block back to the system, until they are touched. A
    // large block ends with a huge page, which the first byte in it made resident.
    static void cynet_give_tail(char* p, size_t n, size_t capacity) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        const size_t end = (n + page - 1) / page * page;
        if (capacity > end) madvise(p + end, (capacity - end) / page * page, MADV_DONTNEED);
    }
    #endif
    // Zeros in a block of which n bytes are used. On Linux its whole pages go back to the system,
    // which gives pages of zeros for them when they are touched.
    static void cynet_zeros(char* p, size_t n, size_t capacity) {
    #if defined(__linux__)
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        const size_t begin = (page - (size_t)p % page) % page;
        const size_t end = capacity - ((size_t)p + capacity) % page;
        if (begin < end && begin < n && !madvise(p + begin, end - begin, MADV_DONTNEED)) {
            memset(p, 0, begin);
            if (n > end) memset(p + end, 0, n - end);
            return;
        }
    #endif
        memset(p, 0, n);
    }
    """
    void cynet_give_tail(char* p, size_t n, size_t capacity) noexcept nogil
    void cynet_zeros(char* p, size_t n, size_t capacity) noexcept nogil

cdef enum:
    _MIN_LAZY_BYTES = 65536  # bytes of an array from which on a system call pays

cdef object _last_context = None  # cached context, with its type and id
cdef int _last_dev_type = 0  # of _last_context
cdef int _last_dev_id = 0  # of _last_context


cdef NDArrayBase _new_array_in_context(object shape, object ctx, object dtype, Face face):
    global _last_context, _last_dev_type, _last_dev_id
    cdef int64_t sizes[MAX_NDIM]
    cdef int ndim, flag = 0
    cdef NDArrayBase out
    if dtype is not None:
        flag = dtype_flag(dtype)
    context = current_context() if ctx is None else read_context(ctx)
    if context is not _last_context:
        _last_dev_type, _last_dev_id = context.device_typeid, context.device_id
        _last_context = context
    ndim = read_shape(shape, sizes)
    out = new_array(face, sizes, ndim, flag, _last_dev_type, _last_dev_id)
    return out


def filled_array(shape, double value, ctx, dtype, Face face=ND):
    """A new array of `shape` with `value` everywhere; `ctx` and `dtype` as in ``mx.nd.full``."""
    cdef NDArrayBase out = _new_array_in_context(shape, ctx, dtype, face)
    cdef Region region = whole_region(out)
    out.chunk.written = out.blob.size == 0
    push_fill(out, &region, &value, kFloat64)
    return out


def filled_like(NDArrayBase data not None, double value):
    """A new array like `data`, of the same shape, dtype and device, with `value` everywhere; None
    where `data` is sparse."""
    if is_sparse(&data.blob):
        return None
    cdef NDArrayBase out = new_array(data.face, data.blob.shape, data.blob.ndim,
                                     data.blob.dtype, data.blob.dev_type, data.blob.dev_id)
    cdef Region region = whole_region(out)
    out.chunk.written = out.blob.size == 0
    push_fill(out, &region, &value, kFloat64)
    return out


def lazy_zeros(NDArrayBase data not None):
    """``filled_like(data, 0)``, whose memory on the host is allocated at the first write if it is
    large: a gradient that is never computed costs nothing."""
    cdef size_t nbytes = data.blob.size * dtype_size(data.blob.dtype)
    if nbytes < _MIN_LAZY_BYTES or not is_on_host(&data.blob) or is_sparse(&data.blob):
        return filled_like(data, 0.0)
    cdef NDArrayBase out = new_array(data.face, data.blob.shape, data.blob.ndim,
                                     data.blob.dtype, data.blob.dev_type, data.blob.dev_id)
    cynet_zeros(<char*>out.chunk.handle.ptr, nbytes, out.chunk.handle.capacity)
    out.chunk.written = True
    return out


def diagonal(rows, columns, k, ctx, dtype, Face face=ND):
    """A new matrix of zeros with ones where the column is the row + `k`."""
    cdef NDArrayBase out = filled_array((rows, columns), 0.0, ctx, dtype, face)
    return _set_diagonal(out, rows, columns, k)


cdef NDArrayBase _set_diagonal(NDArrayBase out, int64_t rows, int64_t columns, int64_t k):
    cdef Region ones
    cdef double one = 1.0
    ones.ndim = 1
    ones.shape[0] = max(min(rows + min(k, 0), columns - max(k, 0)), 0)
    ones.stride[0] = columns + 1
    ones.offset = k if k > 0 else -k * columns
    if ones.shape[0]:
        push_fill(out, &ones, &one, kFloat64)
    return out


def arithmetic_progression(int64_t n, double start, double step, ctx, dtype, Face face=ND):
    """A new array of `n` values ``start + i * step`` in the arithmetic of `dtype`; None on a GPU,
    or for a dtype other than float32, float64 and int32."""
    cdef NDArrayBase out = _new_array_in_context(n, ctx, dtype, face)
    cdef bint made
    if not is_on_host(&out.blob):
        return None
    with nogil:  # no other thread has the array yet
        made = run_progression(out.blob.dtype, start, step, out.blob.data, n)
    out.chunk.written = made
    return out if made else None


def array_filled_by(shape, dtype, fill):
    """A new array of the host, filled by ``fill(view)``: `view` is a writable memoryview."""
    cdef NDArrayBase out = _new_array_in_context(shape, Context("cpu"), dtype, ND)
    cdef Py_ssize_t nbytes = out.blob.size * dtype_size(out.blob.dtype)
    if nbytes:
        fill(PyMemoryView_FromMemory(<char*>out.blob.data, nbytes, PyBUF_WRITE))
    out.chunk.written = True
    cynet_give_tail(<char*>out.chunk.handle.ptr, nbytes, out.chunk.handle.capacity)
    return out
