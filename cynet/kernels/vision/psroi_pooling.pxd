"""PSROIPooling and DeformablePSROIPooling: data (batch, dim * group * group, height, width) pooled
to out (rois, dim, pooled, pooled). The regions have passed check_rois (roi_pooling.pxd)."""

from libc.stdint cimport int64_t

cdef extern from "vision/psroi_pooling.h" namespace "cynet" nogil:
    struct PsroiShape:
        int64_t batch, channels, height, width, rois
        int64_t dim, pooled, group
        double scale
        # of the deformable form: trans (rois, 2 * classes, part, part); classes is 0 without it
        int64_t part, samples, classes
        double trans_std

cdef void psroi_pool(int dtype, const PsroiShape* shape, const void* data, const void* rois,
                     void* out, bint add) noexcept nogil
cdef void psroi_pool_backward(int dtype, const PsroiShape* shape, const void* rois, const void* dy,
                              void* dx, bint add) noexcept nogil
# trans is NULL where there is none
cdef void deformed_pool(int dtype, const PsroiShape* shape, const void* data, const void* rois,
                        const void* trans, void* out, bint add) noexcept nogil
cdef void deformed_pool_backward_data(int dtype, const PsroiShape* shape, const void* rois,
                                      const void* trans, const void* dy, void* dx,
                                      bint add) noexcept nogil
cdef void deformed_pool_backward_trans(int dtype, const PsroiShape* shape, const void* data,
                                       const void* rois, const void* trans, const void* dy,
                                       void* dtrans, bint add) noexcept nogil
