"""Deformable convolution: each point of each window reads the data at its position plus a learned
offset (Dai et al., "Deformable convolutional networks", 2017), times a learned factor (Zhu et al.,
"Deformable ConvNets v2", 2019)."""

from cython cimport floating
from libc.stdint cimport int64_t

cdef extern from "vision/deformable.h" namespace "cynet" nogil:
    # x (batch, channels, in_size), w (filters, channels / groups, kernel), offset (batch,
    # offset_groups, kernel, 2, out_size) of y and x, mask (batch, offset_groups, kernel, out_size),
    # y (batch, filters, out_size). A plane has fewer than 2^31 elements.
    struct DeformShape:
        int64_t batch, channels, filters, groups, offset_groups
        int64_t in_size[2]
        int64_t out_size[2]
        int64_t kernel[2]
        int64_t stride[2]
        int64_t pad[2]
        int64_t dilate[2]
        bint holds  # past size - 1 the last pixel, below 0 zero; else values fade
        # derived by `deform_fill_dims`
        int64_t in_space, out_space, taps
        int64_t tile  # output positions unrolled at a time

cdef void deform_fill_dims(DeformShape* shape) noexcept nogil
# Elements of temporary space.
cdef int64_t deform_workspace_elements(const DeformShape* shape) noexcept nogil
# y = w * samples of x (+ bias) (+ y); bias and mask may be NULL
cdef void deform_forward(const DeformShape* shape, const floating* x, const floating* offset,
                         const floating* mask, const floating* w, const floating* bias,
                         floating* y, bint add, floating* space) noexcept nogil

cdef struct DeformGrads:
    # a NULL output is not computed; `add`: add to the outputs, in this order
    void* data
    void* offset
    void* mask
    void* weight
    bint add[4]

cdef void deform_backward(const DeformShape* shape, const floating* x, const floating* offset,
                          const floating* mask, const floating* w, const floating* dy,
                          const DeformGrads* grads, floating* space) noexcept nogil
