# cython: wraparound=True
"""Convolutions of 2x2 to 8x8, stride 1 or 2, on channels-last float32 data by Winograd's products.

out = act(bias + data * weight); shapes as in channels_last.pyx. Fewer multiplications than a
direct convolution: see kernels/conv/winograd.pxd.
"""

from ...._typedefs cimport TBlob
from ....kernels.parallel cimport threads_for
from ....kernels.conv.winograd cimport (
    BACKWARD, FORWARD, PACKED, WinogradShape, winograd_backward_data, winograd_backward_weight,
    winograd_forward, winograd_pack, winograd_packed_size, winograd_packs, winograd_space,
    winograd_suits
)
from ..._base cimport Operator, OpContext

from ....kernels.isa.dispatch import cpu_capability


cdef WinogradShape _shape_of(prop, data) except *:
    cdef WinogradShape s
    s.batch, s.channels, s.height, s.width = data
    s.filters, s.kernel = prop.num_filter, prop.kernel[0]
    s.pad_h, s.pad_w = prop.window[2]
    s.stride = prop.window[0][0]
    return s


def suits(prop, data):
    """True when Winograd's way is the faster one for this convolution of `data`'s shape."""
    cdef WinogradShape s
    stride, dilate, _ = prop.window
    if (len(prop.kernel) != 2 or prop.kernel[0] != prop.kernel[1] or stride[0] != stride[1]
            or dilate != (1, 1) or prop.num_group != 1
            or cpu_capability() == "baseline"):
        return False
    s = _shape_of(prop, data)
    return winograd_suits(&s, prop.weight_shape is not None)


def packed_size(prop, data):
    """Floats of the packed weights, or None where they are not worth their memory."""
    cdef WinogradShape s = _shape_of(prop, data)
    return winograd_packed_size(&s) if winograd_packs(&s) else None


cdef class WinogradPack(Operator):
    """Weights to packed weights."""

    cdef WinogradShape shape

    def __init__(self, prop, data):
        self.shape = _shape_of(prop, data)

    cdef int forward(self, OpContext* ctx, const TBlob* in_data, const int* req, TBlob* out_data,
                     TBlob* aux_states) except -1 nogil:
        winograd_pack(&self.shape, <const float*>in_data[0].data,
                      threads_for(in_data[0].size * 4), <float*>out_data[0].data)
        return 0


cdef class WinogradConvolution(OwnConvolution):
    def __init__(self, prop, data, out):
        super().__init__(prop, data, out)
        self.shape = _shape_of(prop, data)
        self.packed = prop.weight_shape is not None

    cdef size_t scratch(self, int threads, bint backward) noexcept nogil:
        return winograd_space(&self.shape, threads,
                              BACKWARD if backward else PACKED if self.packed else FORWARD)

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
