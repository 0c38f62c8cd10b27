"""Strided, converting copies on the CPU (contract in strided_copy.pxd, loops in strided_copy.h)."""

from libc.stdint cimport int64_t

from ..._typedefs cimport dtype_size
from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_if_awake, threads_for
from .transpose cimport try_transpose

cdef extern from "movement/strided_copy.h" namespace "cynet" nogil:
    void coalesce_axes(StridedCopy* what) noexcept
    void strided_copy(const StridedCopy* what, int threads, int level) noexcept
    bint are_rows_in_range(const int64_t* rows, int64_t n, int64_t size, int level) noexcept
    void gather_rows(char* dst, const char* src, const int64_t* rows, int64_t n, int64_t nbytes,
                     int threads) noexcept
    void scatter_rows(char* dst, const char* src, int64_t step, const int64_t* rows, int64_t n,
                      int64_t nbytes, int threads) noexcept


cdef void copy_strided(StridedCopy* what, bint serial) noexcept nogil:
    cdef int64_t size = 1
    cdef int i, threads
    for i in range(what.ndim):
        size *= what.shape[i]
    if size:
        threads = threads_if_awake(size) if serial else threads_for(size)
        coalesce_axes(what)
        if not (_moves_words(what) and try_transpose(
                what.ndim, what.shape, what.dst_stride, what.src_stride, what.dst, what.src, False,
                threads)):
            strided_copy(what, threads, cpu_level())


cdef inline bint _moves_words(const StridedCopy* what) noexcept nogil:  # copies of 4-byte elements
    return what.dst_type == what.src_type and dtype_size(what.dst_type) == 4


cdef bint are_row_indices(const int64_t* rows, int64_t n, int64_t size) noexcept nogil:  # in range
    return are_rows_in_range(rows, n, size, cpu_level())


cdef void copy_from_rows(char* dst, const char* src, const int64_t* rows, int64_t n, int64_t nbytes,
                         bint serial) noexcept nogil:
    cdef int64_t work = n * nbytes // 4
    gather_rows(dst, src, rows, n, nbytes, threads_if_awake(work) if serial else threads_for(work))


cdef void copy_to_rows(char* dst, const char* src, int64_t step, const int64_t* rows, int64_t n,
                       int64_t nbytes, bint serial) noexcept nogil:
    cdef int64_t work = n * nbytes // 4
    scatter_rows(dst, src, step, rows, n, nbytes,
                 threads_if_awake(work) if serial else threads_for(work))
