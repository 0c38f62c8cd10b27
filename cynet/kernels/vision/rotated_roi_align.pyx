"""RROIAlign (contract in rotated_roi_align.pxd)."""

from ..parallel cimport threads_for

cdef extern from "vision/rotated_roi_align.h" namespace "cynet" nogil:
    void rotated_roi_align_all(int threads, int dtype, const RotatedRoiShape* s, const void* data,
                               const void* rois, void* out, bint add) noexcept
    void rotated_roi_align_backward_all(int threads, int dtype, const RotatedRoiShape* s,
                                        const void* rois, const void* dy, void* dx,
                                        bint add) noexcept


cdef inline int _threads(const RotatedRoiShape* s) noexcept nogil:
    # a bin takes some tens of steps a channel
    return threads_for(s.rois * s.channels * s.pooled[0] * s.pooled[1] * 32)


cdef void rotated_roi_align(int dtype, const RotatedRoiShape* shape, const void* data,
                            const void* rois, void* out, bint add) noexcept nogil:
    rotated_roi_align_all(_threads(shape), dtype, shape, data, rois, out, add)


cdef void rotated_roi_align_backward(int dtype, const RotatedRoiShape* shape, const void* rois,
                                     const void* dy, void* dx, bint add) noexcept nogil:
    rotated_roi_align_backward_all(_threads(shape), dtype, shape, rois, dy, dx, add)
