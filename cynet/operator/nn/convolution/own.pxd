"""A convolution of channels-last float32 data by kernels of our own: all but the kernels.

Forward and backward honour the requests, apply a folded activation that the kernels do not, mask
its gradient, sum the bias's gradient and take scratch; subclasses name the kernels. Sizes are those
of a ConvDesc (select.py), data and out (N, C, H, W) in channels-last order; bias and activation are
those of a property, or of nothing. `space` is scratch of `scratch`'s bytes, aligned to 64.
"""

from libc.stdint cimport int64_t

from ..._base cimport Operator
from ..fused_activation cimport FoldedActivation


cdef class OwnConvolution(Operator):  # base of our own kernels' operators
    cdef bint has_bias
    cdef FoldedActivation activation
    cdef int64_t rows, filters, work

    # Bytes that run_forward, or with `backward` both gradients, need.
    cdef size_t scratch_bytes(self, int threads, bint backward) noexcept nogil
    # y = relu(x * w + bias + y): `bias` may be NULL, y is added with `add`, relu is applied where
    # `activation` is one.
    cdef void run_forward(self, const float* x, const float* w, const float* bias, float* y,
                          bint add, int threads, char* space) noexcept nogil
    # dx = gradient of x, or dx += with `add`; the same for dw.
    cdef void run_backward_data(self, const float* w, const float* dy, float* dx, bint add,
                                int threads, char* space) noexcept nogil
    cdef void run_backward_weight(self, const float* x, const float* dy, float* dw, bint add,
                                  int threads, char* space) noexcept nogil
