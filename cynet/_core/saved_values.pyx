"""Values that recorded steps read in backward (contract in saved_values.pxd)."""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from ..engine.records cimport pushed_write_count
from .._ndarray cimport NDArrayBase, do_overlap, is_on_host, new_view
from .._typedefs cimport dtype_size

from .._ndarray import move_to_own_memory

cdef long _n_recorded_steps = 0  # recorded steps not released by backward
# Both dicts: address of an array's chunk -> list of tuples. The view keeps the chunk alive.
cdef dict _older_copies = {}    # address: [(write count, copy, view)]
cdef dict _exposed_checksums = {}  # address: [(write count, checksum, view)]


cdef void add_recorded_steps(int more) noexcept:
    global _n_recorded_steps
    _n_recorded_steps += more


cdef NDArrayBase _whole_view(NDArrayBase array):
    return new_view(array, array.blob.shape, array.blob.ndim, 0)


cdef NDArrayBase find_older_copy(NDArrayBase array, unsigned writes):
    cdef NDArrayBase copy, view
    cdef size_t begin = <size_t>array.blob.data, start, size = dtype_size(array.blob.dtype)
    for pushed, copy, view in _older_copies.get(<size_t>array.chunk, ()):
        start = <size_t>view.blob.data
        if pushed == writes and view.blob.dtype == array.blob.dtype and (
                start <= begin
                and begin + array.blob.size * size <= start + view.blob.size * size):
            return new_view(copy, array.blob.shape, array.blob.ndim, (begin - start) // size)
    return None


cdef int drop_unused_copies() except -1:
    if _n_recorded_steps == 0:
        _older_copies.clear()
        _exposed_checksums.clear()
    return 0


def write_unrecorded(NDArrayBase array not None, value):
    """``array[:] = value``; steps recorded with the old values still use the old values in
    backward.

    For writes that are no part of what is differentiated (`Parameter.set_data`). The old values
    are stored while anything is recorded that backward has not let go of.
    """
    cdef NDArrayBase view
    drop_unused_copies()
    if _n_recorded_steps:
        view = _whole_view(array)
        _older_copies.setdefault(<size_t>array.chunk, []).append(
            (pushed_write_count(array.chunk.var), (<object>view).copy(), view))
    (<object>array)[:] = value


def total_writes(list arrays):
    """Return a version number that every write to one of the arrays changes."""
    cdef NDArrayBase array
    cdef uint64_t total = 0
    for array in arrays:
        total += pushed_write_count(array.chunk.var)
    return total


def version_stamp(list arrays):
    """Return the arrays' ids and version number; None if code outside of the engine may write to
    one. Two equal stamps mean that no value has changed."""
    cdef NDArrayBase array
    for array in arrays:
        if array.chunk.exposed.load():
            return None
    return [id(array) for array in arrays], total_writes(arrays)


# --- memory that code outside of the engine may write ---------------------------------------------
cdef uint64_t _checksum_bytes(const char* data, size_t n) noexcept nogil:
    # A hash of the bytes: an FNV-like product over words.
    cdef uint64_t out = 0xcbf29ce484222325, word
    cdef size_t i
    for i in range(n // 8):
        memcpy(&word, data + 8 * i, 8)
        out = (out ^ word) * <uint64_t>0x9e3779b97f4a7c15
        out ^= out >> 29
    word = 0
    memcpy(&word, data + n // 8 * 8, n % 8)
    out = (out ^ word) * <uint64_t>0x9e3779b97f4a7c15
    return out ^ out >> 32


cdef object _checksum_array(NDArrayBase array):
    # A checksum of the array's values, once they are computed; 0 on a GPU, whose memory is not
    # read.
    cdef uint64_t out = 0
    cdef const char* data = <const char*>array.blob.data
    cdef size_t n = array.blob.size * dtype_size(array.blob.dtype)
    if is_on_host(&array.blob) and n:
        array.wait_read()
        with nogil:
            out = _checksum_bytes(data, n)
    return out


cdef dict add_checksum(dict marks, Py_ssize_t i, NDArrayBase array):
    marks = {} if marks is None else marks
    marks[i] = _checksum_array(array)
    return marks


cdef bint was_changed_outside(dict marks, Py_ssize_t i, NDArrayBase array) except -1:
    cdef NDArrayBase view
    if not array.chunk.exposed.load():
        return False
    if marks is not None and i in marks:
        return _checksum_array(array) != marks[i]
    for pushed, mark, view in _exposed_checksums.get(<size_t>array.chunk, ()):
        if pushed == pushed_write_count(array.chunk.var) and do_overlap(view, array) and (
                _checksum_array(view) != mark):
            return True
    return False


def expose_memory(NDArrayBase array not None):
    """Prepare an array for code outside of the engine that may write to it: the array gets memory
    of its own, and while steps are recorded its checksum is stored, to detect changes."""
    array.chunk.exposed.store(True)
    move_to_own_memory(array)
    drop_unused_copies()
    if _n_recorded_steps:
        view = _whole_view(array)
        _exposed_checksums.setdefault(<size_t>array.chunk, []).append(
            (pushed_write_count(array.chunk.var), _checksum_array(view), view))
