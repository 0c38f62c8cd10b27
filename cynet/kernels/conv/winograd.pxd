"""Convolutions of 2x2 to 8x8, stride 1 or 2, float32, channels last, by Winograd's products.

x is (batch, height, width, channels), y (batch, (height + 2 pad_h - kernel) // stride + 1, (width +
2 pad_w - kernel) // stride + 1, filters), w (filters, channels, kernel, kernel), each C-contiguous;
kernel is 2 to 5 with stride 1, 3 to 8 with stride 2. `space` is scratch of that many bytes,
aligned to 64. winograd_pack_w brings w into the form that winograd_forward otherwise makes of it in
every run. Results do not depend on the number of threads. Errors are about twice those of a direct
sum in float32.
"""

from libc.stdint cimport int64_t

cdef extern from "conv/winograd.h" namespace "cynet" nogil:
    struct WinogradShape:
        int64_t batch, height, width, channels, filters, kernel, pad_h, pad_w, stride

cdef extern from "conv/winograd_sizes.h" namespace "cynet::winograd" nogil:
    # rows and columns of the output's tiles
    int64_t winograd_side "cynet::winograd::tile_side"(const WinogradShape& shape) noexcept

cdef extern from "conv/winograd.h" namespace "cynet::winograd" nogil:
    # the use of a workspace: winograd_forward, both gradients, winograd_forward with packed weights
    enum WorkspaceUse:
        FORWARD
        BACKWARD
        PACKED

# Pads must not be negative. The bytes of workspace.
cdef size_t winograd_workspace_bytes(const WinogradShape* shape, int threads,
                                     WorkspaceUse stage) noexcept nogil

# The floats of packed weights, and the packing of w; aligned to 64, valid for one CPU level.
cdef int64_t winograd_packed_size(const WinogradShape* shape) noexcept nogil
cdef void winograd_pack_w(const WinogradShape* shape, const float* w, int threads,
                          float* packed) noexcept nogil

# y = relu(x * w + bias + y): `bias` may be NULL; `relu` and `add` (of y) are flags; `packed`: w
# comes from winograd_pack_w.
cdef void winograd_forward(const WinogradShape* shape, const float* x, const float* w,
                           bint packed, const float* bias, bint relu, float* y, bint add,
                           int threads, char* space) noexcept nogil
# dx = gradient of x, or dx += with `add`.
cdef void winograd_backward_data(const WinogradShape* shape, const float* w, const float* dy,
                                 float* dx, bint add, int threads, char* space) noexcept nogil
# dw = gradient of w, or dw += with `add`.
cdef void winograd_backward_weight(const WinogradShape* shape, const float* x, const float* dy,
                                   float* dw, bint add, int threads, char* space) noexcept nogil
