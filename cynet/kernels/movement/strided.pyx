"""Copies between strided views of arrays (contract in strided.pxd)."""

from libc.stdint cimport int64_t

from ..._typedefs cimport dtype_size, kFloat32
from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for
from .transpose cimport try_transpose

from ...base.errors import ArgumentError


cdef extern from "movement/strided.h" namespace "cynet" nogil:
    void merge_strided_axes(StridedSpace* s) noexcept
    void move_strided(int threads, int level, int dtype, int mode, const StridedSpace& s, void* dst,
                      const void* src) noexcept


cdef void merge_space_axes(StridedSpace* space) noexcept nogil:
    merge_strided_axes(space)


cdef void run_strided(const StridedSpace* space, int dtype, int mode, void* dst,
                      const void* src) noexcept nogil:
    cdef int64_t work = 1
    cdef int i
    if dst == src and mode == STRIDED_WRITE:  # both views are the same memory
        return
    for i in range(space.ndim):
        work *= space.shape[i]
    if mode != STRIDED_SUBTRACT and (dtype == kFloat32 or (
            mode == STRIDED_WRITE and dtype_size(dtype) == 4)):
        if try_transpose(space.ndim, space.shape, space.dst_stride, space.src_stride, dst, src,
                         mode == STRIDED_ADD, threads_for(work)):
            return
    move_strided(threads_for(work), cpu_level(), dtype, mode, space[0], dst, src)


cdef int set_copy_space(StridedSpace* space, target, source) except -1:
    cdef int i
    if len(target.shape) > 16:
        raise ArgumentError(f"a view of {len(target.shape)} axes; at most 16 are supported")
    space.ndim = len(target.shape)
    for i in range(space.ndim):
        space.shape[i] = target.shape[i]
        space.dst_stride[i] = target.strides[i]
        space.src_stride[i] = source.strides[i]
    merge_space_axes(space)
    return 0
