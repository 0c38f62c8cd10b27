"""ROIAlign: data (batch, channels, height, width) pooled to out (rois, channels, pooled)."""

from libc.stdint cimport int64_t

cdef extern from "vision/roi_align.h" namespace "cynet" nogil:
    struct RoiAlignShape:
        int64_t batch, channels, height, width, rois
        int64_t pooled[2]
        double scale
        int64_t ratio  # samples of a bin along each axis; below 1: as many as it has pixels
        bint aligned   # pixels have their centre at their place plus a half
        bint position_sensitive  # each bin has channels of its own, `channels` counts them all

# How many threads, and the bytes of temporary space that they need.
cdef int roi_align_threads(const RoiAlignShape* shape) noexcept nogil
cdef int64_t roi_align_bytes(int dtype, const RoiAlignShape* shape, int threads) noexcept nogil
# The first of the regions of an image without width or height, or -1.
cdef int64_t empty_roi(int dtype, const void* rois, int64_t n) noexcept nogil
# out (+)= the means; the regions have passed check_rois (roi_pooling.pxd)
cdef void roi_align(int dtype, const RoiAlignShape* shape, const void* data, const void* rois,
                    void* out, bint add, int threads, void* space) noexcept nogil
cdef void roi_align_backward(int dtype, const RoiAlignShape* shape, const void* rois,
                             const void* dy, void* dx, bint add, int threads,
                             void* space) noexcept nogil
