"""PSROIPooling and DeformablePSROIPooling (contract in psroi_pooling.pxd)."""

from ..parallel cimport threads_for

cdef extern from "vision/psroi_pooling.h" namespace "cynet" nogil:
    void psroi_pool_all(int threads, int dtype, const PsroiShape* s, const void* data,
                        const void* rois, void* out, bint add) noexcept
    void psroi_pool_backward_all(int threads, int dtype, const PsroiShape* s, const void* rois,
                                 const void* dy, void* dx, bint add) noexcept
    void deformed_pool_all(int threads, int dtype, const PsroiShape* s, const void* data,
                           const void* rois, const void* trans, void* out, bint add) noexcept
    void deformed_pool_data_all(int threads, int dtype, const PsroiShape* s, const void* rois,
                                const void* trans, const void* dy, void* dx, bint add) noexcept
    void deformed_pool_trans_all(int threads, int dtype, const PsroiShape* s, const void* data,
                                 const void* rois, const void* trans, const void* dy,
                                 void* dtrans, bint add) noexcept


cdef inline int _threads(const PsroiShape* s) noexcept nogil:
    # a bin takes some tens of steps
    return threads_for(s.rois * s.dim * s.pooled * s.pooled * 32)


cdef void psroi_pool(int dtype, const PsroiShape* shape, const void* data, const void* rois,
                     void* out, bint add) noexcept nogil:
    psroi_pool_all(_threads(shape), dtype, shape, data, rois, out, add)


cdef void psroi_pool_backward(int dtype, const PsroiShape* shape, const void* rois, const void* dy,
                              void* dx, bint add) noexcept nogil:
    psroi_pool_backward_all(_threads(shape), dtype, shape, rois, dy, dx, add)


cdef void deformed_pool(int dtype, const PsroiShape* shape, const void* data, const void* rois,
                        const void* trans, void* out, bint add) noexcept nogil:
    deformed_pool_all(_threads(shape), dtype, shape, data, rois, trans, out, add)


cdef void deformed_pool_backward_data(int dtype, const PsroiShape* shape, const void* rois,
                                      const void* trans, const void* dy, void* dx,
                                      bint add) noexcept nogil:
    deformed_pool_data_all(_threads(shape), dtype, shape, rois, trans, dy, dx, add)


cdef void deformed_pool_backward_trans(int dtype, const PsroiShape* shape, const void* data,
                                       const void* rois, const void* trans, const void* dy,
                                       void* dtrans, bint add) noexcept nogil:
    deformed_pool_trans_all(_threads(shape), dtype, shape, data, rois, trans, dy, dtrans, add)
