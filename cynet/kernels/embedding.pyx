"""Rows picked by index (contract in embedding.pxd)."""

from cython cimport floating
from cython.parallel cimport prange
from libc.string cimport memcpy, memset

from .._typedefs cimport dtype_size, kFloat32
from .dispatch cimport cpu_level
from .parallel cimport threads_for
from .random cimport load_number

cdef extern from "embedding.h" namespace "cynet" nogil:
    void add_rows[T](int level, const T* x, const int64_t* rows, int64_t n, int64_t dim,
                     int64_t first, int64_t last, T* y) noexcept

cdef enum:
    CHUNK = 256  # indices that are read at a time


cdef inline int64_t _row(const void* index, int dtype, int64_t i, int64_t rows) noexcept nogil:
    cdef double value = load_number(index, dtype, i)
    if value >= rows:
        return rows - 1
    return <int64_t>value if value > 0 else 0


cdef inline void _add(const floating* x, floating* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] += x[i]


cdef void embedding_forward(const void* index, int index_dtype, int64_t n, const void* weight,
                            int dtype,
                            int64_t rows, int64_t dim, void* out, bint add) noexcept nogil:
    cdef int threads = threads_for(n * dim)
    cdef int64_t i, row, bytes = dim * dtype_size(dtype)
    for i in prange(n, num_threads=threads, schedule="static"):
        row = _row(index, index_dtype, i, rows)
        if not add:
            memcpy(<char*>out + i * bytes, <const char*>weight + row * bytes, bytes)
        elif dtype == kFloat32:
            _add(<const float*>weight + row * dim, <float*>out + i * dim, dim)
        else:
            _add(<const double*>weight + row * dim, <double*>out + i * dim, dim)


cdef void _scatter(const void* index, int index_dtype, int64_t n, const floating* dout,
                   int64_t rows,
                   int64_t dim, floating* dweight, int64_t first, int64_t last) noexcept nogil:
    """Columns [first, last): no two parts write one element, and sums go in order."""
    cdef int64_t row[CHUNK]
    cdef int64_t part, i, k, count
    for part in range((n + CHUNK - 1) // CHUNK):
        i = part * CHUNK
        count = min(n - i, <int64_t>CHUNK)
        for k in range(count):
            row[k] = _row(index, index_dtype, i + k, rows)
        add_rows(cpu_level(), dout + i * dim, row, count, dim, first, last, dweight)


cdef enum:
    BLOCK = 512  # bytes

cdef void _clear(char* bytes, int64_t n) noexcept nogil:
    """Zeros, written only where anything else is: most rows were not touched since the last run,
    and what is not written need not go back to memory."""
    cdef int64_t i = 0, k, end
    cdef char any_bits
    while i < n:
        end = i + BLOCK if i + BLOCK < n else n
        any_bits = 0
        for k in range(i, end):
            any_bits |= bytes[k]
        if any_bits:
            memset(bytes + i, 0, end - i)
        i = end


cdef void embedding_backward(const void* index, int index_dtype, int64_t n, const void* dout,
                             int dtype,
                             int64_t rows, int64_t dim, void* dweight, bint add) noexcept nogil:
    cdef int threads = threads_for(rows * dim)
    cdef int t
    cdef int64_t row = dim * dtype_size(dtype)
    cdef bint few = n * 4 < rows
    if not add:
        for t in prange(threads, num_threads=threads, schedule="static"):
            if few:
                _clear(<char*>dweight + rows * t // threads * row,
                       (rows * (t + 1) // threads - rows * t // threads) * row)
            else:
                memset(<char*>dweight + rows * t // threads * row, 0,
                       (rows * (t + 1) // threads - rows * t // threads) * row)
    threads = threads_for(n * dim)
    if threads > dim // 32:
        threads = <int>(dim // 32) if dim >= 32 else 1
    for t in prange(threads, num_threads=threads, schedule="static"):
        if dtype == kFloat32:
            _scatter(index, index_dtype, n, <const float*>dout, rows, dim, <float*>dweight,
                     dim * t // threads, dim * (t + 1) // threads)
        else:
            _scatter(index, index_dtype, n, <const double*>dout, rows, dim, <double*>dweight,
                     dim * t // threads, dim * (t + 1) // threads)
