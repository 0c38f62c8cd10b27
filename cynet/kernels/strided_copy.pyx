"""Strided, converting copies on the CPU (contract in strided_copy.pxd, loops in strided_copy.h)."""

from libc.stdint cimport int64_t

from .dispatch cimport cpu_level
from .parallel cimport threads_awake, threads_for

cdef extern from "strided_copy.h" namespace "cynet" nogil:
    void strided_copy(StridedCopy* what, int threads, int level) noexcept
    void gather_rows(char* dst, const char* src, const int64_t* rows, int64_t n, int64_t nbytes,
                     int threads) noexcept
    void scatter_rows(char* dst, const char* src, const int64_t* rows, int64_t n,
                      int64_t nbytes) noexcept


cdef void copy_strided(StridedCopy* what, bint serial) noexcept nogil:
    cdef int64_t size = 1
    cdef int i
    for i in range(what.ndim):
        size *= what.shape[i]
    if size:
        strided_copy(what, threads_awake(size) if serial else threads_for(size), cpu_level())


cdef void copy_gather(char* dst, const char* src, const int64_t* rows, int64_t n, int64_t nbytes,
                      bint serial) noexcept nogil:
    cdef int64_t work = n * nbytes // 4
    gather_rows(dst, src, rows, n, nbytes, threads_awake(work) if serial else threads_for(work))


cdef void copy_scatter(char* dst, const char* src, const int64_t* rows, int64_t n,
                       int64_t nbytes) noexcept nogil:
    scatter_rows(dst, src, rows, n, nbytes)
