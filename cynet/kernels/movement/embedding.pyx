"""Rows picked by index (contract in embedding.pxd)."""

from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport uint64_t
from libc.string cimport memset

from ..._typedefs cimport dtype_size, kFloat32
from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for
from ..rng.random cimport load_number

cdef extern from "movement/embedding.h" namespace "cynet" nogil:
    void add_rows[T](int level, const T* x, const int64_t* rows, int64_t n, int64_t dim,
                     int64_t first, int64_t last, T* y) noexcept
    void copy_rows(const char* source, const int64_t* rows, int64_t n, int64_t bytes,
                   char* to) noexcept
    void clear_rows(uint64_t* bits, int64_t n, int64_t part, int64_t parts, char* rows,
                    int64_t n_bytes) noexcept
    void set_bits(uint64_t* bits, const int64_t* rows, int64_t n) noexcept

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


cdef void _pick(const void* index, int index_dtype, const void* weight, int dtype, int64_t rows,
                int64_t dim, void* out, bint add, int64_t begin, int64_t end) noexcept nogil:
    """Rows begin .. end of the output."""
    cdef int64_t row[CHUNK]
    cdef int64_t i = begin, k, count, bytes = dim * dtype_size(dtype)
    while i < end:
        count = min(end - i, <int64_t>CHUNK)
        for k in range(count):
            row[k] = _row(index, index_dtype, i + k, rows)
        if not add:
            copy_rows(<const char*>weight, row, count, bytes, <char*>out + i * bytes)
        else:
            for k in range(count):
                if dtype == kFloat32:
                    _add(<const float*>weight + row[k] * dim, <float*>out + (i + k) * dim, dim)
                else:
                    _add(<const double*>weight + row[k] * dim, <double*>out + (i + k) * dim, dim)
        i += count


cdef void embedding_forward(const void* index, int index_dtype, int64_t n, const void* weight,
                            int dtype,
                            int64_t rows, int64_t dim, void* out, bint add) noexcept nogil:
    cdef int threads = threads_for(n * dim)
    cdef int t
    for t in prange(threads, num_threads=threads, schedule="static"):
        _pick(index, index_dtype, weight, dtype, rows, dim, out, add, n * t // threads,
              n * (t + 1) // threads)


cdef void _scatter(const void* index, int index_dtype, int64_t n, const floating* dout,
                   int64_t rows,
                   int64_t dim, floating* dweight, int64_t first, int64_t last,
                   uint64_t* bits) noexcept nogil:
    """Columns [first, last): no two parts write one element, and sums go in order. The bits of
    their rows are set, unless NULL."""
    cdef int64_t row[CHUNK]
    cdef int64_t part, i, k, count
    for part in range((n + CHUNK - 1) // CHUNK):
        i = part * CHUNK
        count = min(n - i, <int64_t>CHUNK)
        for k in range(count):
            row[k] = _row(index, index_dtype, i + k, rows)
        if bits != NULL:
            set_bits(bits, row, count)
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


cdef void _clear_all(char* dweight, int64_t rows, int64_t bytes, int64_t n, uint64_t* bits,
                     bint known) noexcept nogil:
    """Zeros before the rows of n indices are added."""
    cdef int t, threads
    if bits != NULL and known:
        threads = threads_for(n * bytes // 4)
        for t in prange(threads, num_threads=threads, schedule="static"):
            clear_rows(bits, rows, t, threads, dweight, bytes)
        return
    threads = threads_for(rows * bytes // 4)
    for t in prange(threads, num_threads=threads, schedule="static"):
        if n * 4 < rows:
            _clear(dweight + rows * t // threads * bytes,
                   (rows * (t + 1) // threads - rows * t // threads) * bytes)
        else:
            memset(dweight + rows * t // threads * bytes, 0,
                   (rows * (t + 1) // threads - rows * t // threads) * bytes)
    if bits != NULL:
        memset(bits, 0, (rows + 63) // 64 * sizeof(uint64_t))


cdef void embedding_backward(const void* index, int index_dtype, int64_t n, const void* dout,
                             int dtype, int64_t rows, int64_t dim, void* dweight, bint add,
                             uint64_t* bits, bint known) noexcept nogil:
    cdef int t, threads = threads_for(n * dim)
    if not add:
        _clear_all(<char*>dweight, rows, dim * dtype_size(dtype), n, bits, known)
    if threads > dim // 32:
        threads = <int>(dim // 32) if dim >= 32 else 1
    for t in prange(threads, num_threads=threads, schedule="static"):
        if dtype == kFloat32:
            _scatter(index, index_dtype, n, <const float*>dout, rows, dim, <float*>dweight,
                     dim * t // threads, dim * (t + 1) // threads, bits if t == 0 else NULL)
        else:
            _scatter(index, index_dtype, n, <const double*>dout, rows, dim, <double*>dweight,
                     dim * t // threads, dim * (t + 1) // threads, bits if t == 0 else NULL)
