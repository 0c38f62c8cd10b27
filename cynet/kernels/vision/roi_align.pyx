"""ROIAlign (contract in roi_align.pxd)."""

from libc.stdint cimport int64_t

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "vision/roi_align.h" namespace "cynet" nogil:
    int64_t roi_align_space(const RoiAlignShape* s, int dtype) noexcept
    int64_t empty_roi_all(int dtype, const void* rois, int64_t n) noexcept
    void roi_align_all(int threads, int level, int dtype, const RoiAlignShape* s, const void* data,
                       const void* rois, void* out, bint add, char* space) noexcept
    void roi_align_backward_all(int threads, int level, int dtype, const RoiAlignShape* s,
                                const void* rois, const void* dy, void* dx, bint add,
                                char* space) noexcept


cdef int roi_align_threads(const RoiAlignShape* shape) noexcept nogil:
    # a bin takes some tens of steps a channel
    return threads_for(shape.rois * shape.channels * shape.pooled[0] * shape.pooled[1] * 32)


cdef int64_t roi_align_bytes(int dtype, const RoiAlignShape* shape, int threads) noexcept nogil:
    return roi_align_space(shape, dtype) * threads


cdef int64_t empty_roi(int dtype, const void* rois, int64_t n) noexcept nogil:
    return empty_roi_all(dtype, rois, n)


cdef void roi_align(int dtype, const RoiAlignShape* shape, const void* data, const void* rois,
                    void* out, bint add, int threads, void* space) noexcept nogil:
    roi_align_all(threads, cpu_level(), dtype, shape, data, rois, out, add, <char*>space)


cdef void roi_align_backward(int dtype, const RoiAlignShape* shape, const void* rois,
                             const void* dy, void* dx, bint add, int threads,
                             void* space) noexcept nogil:
    roi_align_backward_all(threads, cpu_level(), dtype, shape, rois, dy, dx, add, <char*>space)
