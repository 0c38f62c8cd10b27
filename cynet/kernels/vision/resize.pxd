"""Planes resized: by bilinear interpolation, and by means of windows that cover them."""

from libc.stdint cimport int64_t

cdef extern from "vision/resize.h" namespace "cynet" nogil:
    struct ResizeShape:
        int64_t planes
        int64_t in_size[2]
        int64_t out_size[2]
        bint align_corners  # the outer pixels' centres stay where they are; else the outer edges

cdef int resize_threads(const ResizeShape* shape) noexcept nogil
# Bytes of temporary space for so many threads.
cdef int64_t resize_space(const ResizeShape* shape, int threads) noexcept nogil
# to (+)= from resized, by interpolation or `means`; backwards: the gradient of the input, from that
# of the output
cdef void resize(int dtype, const ResizeShape* shape, bint means, bint backwards,
                 const void* source,
                 void* to, bint add, int threads, void* space) noexcept nogil
