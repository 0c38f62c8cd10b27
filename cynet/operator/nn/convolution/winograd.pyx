# cython: wraparound=True
"""Convolutions of 2x2 to 8x8, stride 1 or 2, on channels-last float32 data by Winograd's products.

out = act(bias + data * weight); shapes as in own.pxd. Fewer multiplications than a
direct convolution: see kernels/conv/winograd.pxd.
"""

from ...._typedefs cimport TBlob
from ....kernels.parallel cimport threads_for
from ....kernels.conv.winograd cimport (
    BACKWARD, FORWARD, PACKED, WinogradShape, winograd_backward_data, winograd_backward_weight,
    winograd_forward, winograd_pack_w, winograd_packed_size as kernel_packed_size,
    winograd_workspace_bytes
)
from ..._base cimport Operator, OpContext


cdef WinogradShape _winograd_shape(desc) except *:  # sizes for the kernels
    cdef WinogradShape s
    s.batch, s.channels, s.height, s.width = desc.data
    s.filters, s.kernel = desc.filters, desc.kernel[0]
    s.pad_h, s.pad_w = desc.pad
    s.stride = desc.stride[0]
    return s


def winograd_packed_size(desc):
    """Floats of the packed weight."""
    cdef WinogradShape s = _winograd_shape(desc)
    return kernel_packed_size(&s)


cdef class WinogradPack(Operator):  # packs a weight for Winograd's products
    """Transforms weights for Winograd's products."""

    cdef WinogradShape shape

    def __init__(self, desc):
        self.shape = _winograd_shape(desc)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        winograd_pack_w(&self.shape, <const float*>in_data[0].data,
                        threads_for(in_data[0].size * 4), <float*>out_data[0].data)
        return 0


cdef class WinogradConvolution(OwnConvolution):
    def __init__(self, desc, prop):
        super().__init__(desc, prop)
        self.shape = _winograd_shape(desc)
        self.packed = desc.packed

    cdef size_t scratch_bytes(self, int threads, bint backward) noexcept nogil:  # temporary memory
        return winograd_workspace_bytes(
            &self.shape, threads, BACKWARD if backward else PACKED if self.packed else FORWARD)

    cdef void run_forward(self, const float* x, const float* w, const float* bias, float* y,
                          bint add, int threads, char* space) noexcept nogil:
        winograd_forward(&self.shape, x, w, self.packed, bias, self.activation.relu, y, add,
                         threads, space)

    cdef void run_backward_data(self, const float* w, const float* dy, float* dx, bint add,
                                int threads, char* space) noexcept nogil:
        winograd_backward_data(&self.shape, w, dy, dx, add, threads, space)

    cdef void run_backward_weight(self, const float* x, const float* dy, float* dw, bint add,
                                  int threads, char* space) noexcept nogil:
        winograd_backward_weight(&self.shape, x, dy, dw, add, threads, space)
