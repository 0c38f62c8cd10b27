"""Copies between strided views of arrays."""

from libc.stdint cimport int64_t

cdef extern from "movement/strided.h" namespace "cynet" nogil:
    enum:
        STRIDED_WRITE
        STRIDED_ADD
        STRIDED_SUBTRACT
    struct StridedSpace:
        # dst[i . dst_stride] (op)= src[i . src_stride] for all i; at most 16 axes
        int ndim
        int64_t shape[16]
        int64_t dst_stride[16]
        int64_t src_stride[16]

# Fills `space` for a copy from view `source` to view `target` of the same shape.
cdef int set_copy_space(StridedSpace* space, target, source) except -1
# Drop axes of length 1, join neighbours: once, when an operator is made.
cdef void merge_space_axes(StridedSpace* space) noexcept nogil
# `mode`: STRIDED_WRITE, STRIDED_ADD or STRIDED_SUBTRACT. dst and src point at index 0.
cdef void run_strided(const StridedSpace* space, int dtype, int mode, void* dst,
                      const void* src) noexcept nogil
