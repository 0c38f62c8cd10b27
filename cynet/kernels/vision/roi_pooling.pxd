"""ROIPooling, and the check of regions that all operators on them make."""

from libc.stdint cimport int32_t, int64_t

cdef extern from "vision/roi_pooling.h" namespace "cynet" nogil:
    enum: ROI_GOOD, ROI_IMAGE, ROI_NUMBER
    # data (batch, channels, height, width), out (rois, channels, pooled); a plane has fewer than
    # 2^31 elements
    struct RoiPoolShape:
        int64_t batch, channels, height, width, rois
        int64_t pooled[2]
        double scale

# ROI_GOOD, or what is wrong with the region that `row` then says: an image that is none of the
# batch (negative ones are, and pool to 0), or coordinates that are no numbers or too large.
cdef int check_rois(int dtype, const void* rois, int64_t n, int64_t columns, double scale,
                    int64_t batch, int64_t* row) noexcept nogil
# `write`: out (+)= the maxima; places (or NULL) (+)= where in the plane they are, -1 in an empty
# bin
cdef void roi_pool(int dtype, const RoiPoolShape* shape, const void* data, const void* rois,
                   void* out, int32_t* places, bint write, bint add,
                   bint add_places) noexcept nogil
cdef void roi_pool_backward(int dtype, const RoiPoolShape* shape, const void* rois,
                            const int32_t* places, const void* dy, void* dx,
                            bint add) noexcept nogil
