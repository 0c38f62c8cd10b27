"""The set of a gradient's nonzero rows (contract in touched_rows.pxd)."""

from libc.stdint cimport int64_t

from .._typedefs cimport dtype_size


cdef RowSet* nonzero_row_set(NDArrayBase array) except? NULL:
    cdef RowSet* rows = array.chunk.rows.load()
    cdef int64_t length, n = array.blob.shape[0] if array.blob.ndim else 0
    if n == 0 or array.blob.size == 0:
        return NULL
    length = array.blob.size // n * dtype_size(array.blob.dtype)
    if rows == NULL:
        rows = new RowSet()
        rows.data, rows.n, rows.length, rows.known = <char*>array.blob.data, n, length, False
        rows.bits.resize((n + 63) // 64)
        rows.maximum.store(n)
        array.chunk.rows.store(rows)
    if rows.data != array.blob.data or rows.n != n or rows.length != length:
        return NULL
    return rows


def list_nonzero_rows(NDArrayBase array):
    """Return the indices of the rows that may be nonzero, or None if they are not recorded. Waits
    for the array; for tests and debugging."""
    cdef int64_t i
    cdef const RowSet* rows
    array.wait_read()
    if not are_rows_known(array.chunk):
        return None
    rows = array.chunk.rows.load()
    return [i for i in range(rows.n) if rows.bits[i // 64] >> (i % 64) & 1]
