# cython: wraparound=True
"""Convolution of small channels-last float32 images by products of the taps that lie inside.

As ChannelsLastConvolution says (kernels/gemm/small.h).
"""

from ....kernels.gemm.small cimport (
    WindowShape, window_backward_data, window_backward_weight, window_forward, window_space,
    window_suits, spread_suits
)
from .own cimport OwnConvolution

from ....kernels.isa.dispatch import cpu_capability


cdef WindowShape shape_of(prop, data, out) except *:
    cdef WindowShape s
    s.batch, s.channels, s.height, s.width = data
    _, s.filters, s.out_height, s.out_width = out
    s.kernel_h, s.kernel_w = prop.kernel
    (s.stride_h, s.stride_w), (s.dilate_h, s.dilate_w), (s.pad_h, s.pad_w) = prop.window
    return s


cdef bint spreads_data(prop, data, out, WindowShape* shape) except *:
    if len(prop.kernel) != 2 or prop.num_group != 1:
        return False
    shape[0] = shape_of(prop, data, out)
    return spread_suits(shape)


def suits(prop, data, out):
    """True when this is the quickest way for a convolution of these shapes (N, C, H, W)."""
    cdef WindowShape s
    if (len(prop.kernel) != 2 or prop.num_group != 1
            or cpu_capability() == "baseline"):
        return False
    s = shape_of(prop, data, out)
    return window_suits(&s)


cdef class WindowConvolution(OwnConvolution):
    cdef WindowShape shape

    def __init__(self, prop, data, out):
        super().__init__(prop, data, out)
        self.shape = shape_of(prop, data, out)

    cdef size_t scratch(self, int threads, bint backward) noexcept nogil:
        return window_space(&self.shape, threads, backward)

    cdef void run_forward(self, const float* x, const float* w, const float* bias, float* y,
                          bint add, int threads, char* space) noexcept nogil:
        window_forward(&self.shape, x, w, bias, self.activation.relu, y, add, threads, space)

    cdef void run_backward_data(self, const float* w, const float* dy, float* dx, bint add,
                                int threads, char* space) noexcept nogil:
        window_backward_data(&self.shape, w, dy, dx, add, threads, space)

    cdef void run_backward_weight(self, const float* x, const float* dy, float* dw, bint add,
                                  int threads, char* space) noexcept nogil:
        window_backward_weight(&self.shape, x, dy, dw, add, threads, space)
