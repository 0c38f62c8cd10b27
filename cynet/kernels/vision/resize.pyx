"""Planes resized (contract in resize.pxd)."""

from libc.stdint cimport int64_t

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "vision/resize.h" namespace "cynet" nogil:
    int64_t resize_row_bytes(const ResizeShape* s) noexcept
    int64_t resize_places_bytes(const ResizeShape* s) noexcept
    void resize_all(int threads, int level, int dtype, const ResizeShape* s, bint means,
                    bint backwards, const void* source, void* to, bint add, char* space) noexcept


cdef int resize_threads(const ResizeShape* shape) noexcept nogil:
    cdef int64_t inside = shape.in_size[0] * shape.in_size[1]
    return threads_for(shape.planes * (inside + 4 * shape.out_size[0] * shape.out_size[1]))


cdef int64_t resize_space(const ResizeShape* shape, int threads) noexcept nogil:
    return resize_places_bytes(shape) + threads * resize_row_bytes(shape)


cdef void resize(int dtype, const ResizeShape* shape, bint means, bint backwards,
                 const void* source,
                 void* to, bint add, int threads, void* space) noexcept nogil:
    resize_all(threads, cpu_level(), dtype, shape, means, backwards, source, to, add, <char*>space)
