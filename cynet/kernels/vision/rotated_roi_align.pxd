"""RROIAlign: data (batch, channels, height, width), regions (image, x, y, width, height, degrees),
out (rois, channels, pooled)."""

from libc.stdint cimport int64_t

cdef extern from "vision/rotated_roi_align.h" namespace "cynet" nogil:
    # a plane has fewer than 2^31 elements
    struct RotatedRoiShape:
        int64_t batch, channels, height, width, rois
        int64_t pooled[2]
        double scale
        int64_t ratio  # samples of a bin along each axis; below 1: as many as it has pixels

# out (+)= the means; the regions have passed check_rois (roi_pooling.pxd)
cdef void rotated_roi_align(int dtype, const RotatedRoiShape* shape, const void* data,
                            const void* rois, void* out, bint add) noexcept nogil
cdef void rotated_roi_align_backward(int dtype, const RotatedRoiShape* shape, const void* rois,
                                     const void* dy, void* dx, bint add) noexcept nogil
