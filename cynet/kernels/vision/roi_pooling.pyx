"""ROIPooling (contract in roi_pooling.pxd)."""

from libc.stdint cimport int32_t, int64_t

from ..parallel cimport threads_for

cdef extern from "vision/roi_pooling.h" namespace "cynet" nogil:
    int check_rois_all(int dtype, const void* rois, int64_t n, int64_t columns, double scale,
                       int64_t batch, int64_t* row) noexcept
    void roi_pool_all(int threads, int dtype, const RoiPoolShape* s, const void* data,
                      const void* rois, void* out, int32_t* places, bint write,
                      bint add, bint add_places) noexcept
    void roi_pool_backward_all(int threads, int dtype, const RoiPoolShape* s, const void* rois,
                               const int32_t* places, const void* dy, void* dx, bint add) noexcept


cdef int check_rois(int dtype, const void* rois, int64_t n, int64_t columns, double scale,
                    int64_t batch, int64_t* row) noexcept nogil:
    return check_rois_all(dtype, rois, n, columns, scale, batch, row)


cdef void roi_pool(int dtype, const RoiPoolShape* shape, const void* data, const void* rois,
                   void* out, int32_t* places, bint write, bint add,
                   bint add_places) noexcept nogil:
    # a bin has some tens of pixels
    cdef int64_t work = shape.rois * shape.channels * shape.pooled[0] * shape.pooled[1] * 32
    roi_pool_all(threads_for(work), dtype, shape, data, rois, out, places, write, add,
                 add_places)


cdef void roi_pool_backward(int dtype, const RoiPoolShape* shape, const void* rois,
                            const int32_t* places, const void* dy, void* dx,
                            bint add) noexcept nogil:
    cdef int64_t work = shape.rois * shape.channels * shape.pooled[0] * shape.pooled[1] * 2
    work += shape.batch * shape.channels * shape.height * shape.width
    roi_pool_backward_all(threads_for(work), dtype, shape, rois, places, dy, dx, add)
