# cython: wraparound=True
"""Convolution of small channels-last float32 images by products of the taps that lie inside.

Shapes as own.pxd says (kernels/gemm/small.h).
"""

from ....kernels.gemm.small cimport (
    ConvWindow, window_backward_data, window_backward_weight, window_forward,
    window_workspace_bytes
)
from .own cimport OwnConvolution


cdef ConvWindow conv_window_of(desc) except *:  # sizes for the kernels
    cdef ConvWindow s
    s.batch, s.channels, s.height, s.width = desc.data
    _, s.filters, s.out_height, s.out_width = desc.out
    s.kernel_h, s.kernel_w = desc.kernel
    s.stride_h, s.stride_w = desc.stride
    s.dilate_h, s.dilate_w = desc.dilate
    s.pad_h, s.pad_w = desc.pad
    return s


cdef class WindowConvolution(OwnConvolution):  # sums over windows directly
    cdef ConvWindow shape

    def __init__(self, desc, prop):
        super().__init__(desc, prop)
        self.shape = conv_window_of(desc)

    cdef size_t scratch_bytes(self, int threads, bint backward) noexcept nogil:  # temporary memory
        return window_workspace_bytes(&self.shape, threads, backward)

    cdef void run_forward(self, const float* x, const float* w, const float* bias, float* y,
                          bint add, int threads, char* space) noexcept nogil:
        window_forward(&self.shape, x, w, bias, self.activation.relu, y, add, threads, space)

    cdef void run_backward_data(self, const float* w, const float* dy, float* dx, bint add,
                                int threads, char* space) noexcept nogil:
        window_backward_data(&self.shape, w, dy, dx, add, threads, space)

    cdef void run_backward_weight(self, const float* x, const float* dy, float* dw, bint add,
                                  int threads, char* space) noexcept nogil:
        window_backward_weight(&self.shape, x, dy, dw, add, threads, space)
