"""Products of small matrices (contract in small.pxd): the loops are in small.h."""

from ..isa.dispatch cimport cpu_level

from ..isa.dispatch import cpu_capabilities, level_number

import numpy as np

cdef extern from "gemm/small.h" namespace "cynet" nogil:
    size_t cpp_product_bytes "cynet::product_workspace_bytes"(int level, int threads) noexcept
    bint cpp_shares_a "cynet::product_shares_a"(int level, ProductKernel way, int64_t m, int64_t n,
                                                int threads) noexcept
    int64_t cpp_packed_size "cynet::product_packed_size"(int64_t n, int64_t k) noexcept
    void cpp_pack "cynet::pack_operand"(const float* b, int64_t b_row, bint transposed, int64_t k,
                                        int64_t n, float* to, int threads) noexcept
    void cpp_product "cynet::product"(int level, ProductKernel way, const Product& p, int threads,
                                      char* space) noexcept
    ctypedef enum NarrowUse "cynet::products::NarrowUse":
        LIKE_OTHER_KERNELS "cynet::products::LIKE_OTHER_KERNELS"
        INSTEAD_OF_BLAS "cynet::products::INSTEAD_OF_BLAS"
    bint cpp_is_few "cynet::product_is_narrow"(int level, int64_t m, int64_t n, int64_t k,
                                               bint b_transposed, NarrowUse of) noexcept
    size_t cpp_window_bytes "cynet::window_workspace_bytes"(
        int level, const ConvWindow& shape, int threads, bint backward) noexcept
    void cpp_forward "cynet::window_forward"(
        int level, const ConvWindow& shape, const float* x, const float* w, const float* bias,
        bint relu, float* y, bint add, int threads, char* space) noexcept
    void cpp_backward_data "cynet::window_backward_data"(
        int level, const ConvWindow& shape, const float* w, const float* dy, float* dx,
        bint add, int threads, char* space) noexcept
    size_t cpp_scatter_bytes "cynet::scatter_workspace_bytes"(
        int level, const ConvWindow& shape, int threads, bint packed) noexcept
    int64_t cpp_scatter_packed_size "cynet::scatter_packed_size"(
        int level, const ConvWindow& shape) noexcept
    void cpp_scatter_pack "cynet::scatter_pack_w"(
        int level, const ConvWindow& shape, const float* w, int threads, float* to) noexcept
    void cpp_scatter "cynet::scatter_windows"(
        int level, const ConvWindow& shape, const float* w, bint packed, const float* dy,
        float* dx, bint add, int threads, char* space) noexcept
    void cpp_backward_weight "cynet::window_backward_weight"(
        int level, const ConvWindow& shape, const float* x, const float* dy, float* dw,
        bint add, int threads, char* space) noexcept
    void cpp_channel_weight "cynet::window_depthwise_grad"(
        int level, const ConvWindow& shape, const float* x, const float* dy, float* dw,
        bint add, int threads) noexcept


cdef bint product_shares_a(ProductKernel way, int64_t m, int64_t n, int threads) noexcept nogil:
    return cpp_shares_a(cpu_level(), way, m, n, threads)


cdef int64_t product_packed_size(int64_t n, int64_t k) noexcept nogil:
    return cpp_packed_size(n, k)


cdef void pack_operand(const float* b, int64_t b_row, bint transposed, int64_t k, int64_t n,
                       float* to, int threads) noexcept nogil:
    cpp_pack(b, b_row, transposed, k, n, to, threads)


cdef size_t product_workspace_bytes(int threads) noexcept nogil:
    return cpp_product_bytes(cpu_level(), threads)


cdef void run_product(const Product* p, ProductKernel way, int threads, char* space) noexcept nogil:
    cpp_product(cpu_level(), way, p[0], threads, space)


cdef bint product_is_narrow(int64_t m, int64_t n, int64_t k, bint b_transposed) noexcept nogil:
    return cpu_level() > 0 and cpp_is_few(cpu_level(), m, n, k, b_transposed, INSTEAD_OF_BLAS)


cdef void run_narrow_product(const Product* p, int threads) noexcept nogil:
    cpp_product(cpu_level(), NARROW, p[0], threads, NULL)


cdef size_t window_workspace_bytes(const ConvWindow* shape, int threads,
                                   bint backward) noexcept nogil:
    return cpp_window_bytes(cpu_level(), shape[0], threads, backward)


cdef void window_forward(const ConvWindow* shape, const float* x, const float* w,
                         const float* bias, bint relu, float* y, bint add, int threads,
                         char* space) noexcept nogil:
    cpp_forward(cpu_level(), shape[0], x, w, bias, relu, y, add, threads, space)


cdef void window_backward_data(const ConvWindow* shape, const float* w, const float* dy, float* dx,
                               bint add, int threads, char* space) noexcept nogil:
    cpp_backward_data(cpu_level(), shape[0], w, dy, dx, add, threads, space)


cdef int64_t scatter_packed_size(const ConvWindow* shape) noexcept nogil:
    return cpp_scatter_packed_size(cpu_level(), shape[0])


cdef void scatter_pack_w(const ConvWindow* shape, const float* w, int threads,
                         float* to) noexcept nogil:
    cpp_scatter_pack(cpu_level(), shape[0], w, threads, to)


cdef size_t scatter_workspace_bytes(const ConvWindow* shape, int threads,
                                    bint packed) noexcept nogil:
    return cpp_scatter_bytes(cpu_level(), shape[0], threads, packed)


cdef void scatter_windows(const ConvWindow* shape, const float* w, bint packed, const float* dy,
                          float* dx, bint add, int threads, char* space) noexcept nogil:
    cpp_scatter(cpu_level(), shape[0], w, packed, dy, dx, add, threads, space)


cdef void window_backward_weight(const ConvWindow* shape, const float* x, const float* dy,
                                 float* dw, bint add, int threads, char* space) noexcept nogil:
    cpp_backward_weight(cpu_level(), shape[0], x, dy, dw, add, threads, space)


cdef void window_depthwise_grad(const ConvWindow* shape, const float* x, const float* dy,
                                float* dw, bint add, int threads) noexcept nogil:
    cpp_channel_weight(cpu_level(), shape[0], x, dy, dw, add, threads)


def is_narrow_chosen(level, m, n, k, b_transposed):
    """True if a product of m x k by k x n is so narrow that reading b in place is faster than
    packing."""
    return cpp_is_few(level_number(level), m, n, k, b_transposed, LIKE_OTHER_KERNELS)


def _allocate_scratch(size_t size):
    """Return an array of NaN, and the address in it where `size` aligned bytes begin."""
    buffer = np.full(size + 128, 255, np.uint8)
    return buffer, -buffer.ctypes.data % 64


def _level_number(name):
    return cpu_level() if name is None else cpu_capabilities().index(name)


KERNELS = ("panels", "amx", "narrow")  # names in the order of enum ProductKernel of small.h


def _multiply_arrays(a, b, c, bint a_transposed=False, bint b_transposed=False, bias=None,
                     bint relu=False, bint add=False, int threads=1, level=None, way="panels",
                     bint b_shared=False, mask=None, sums=None,
                     bint add_sums=False, bint packed=False):
    """`run_product` of C-contiguous NumPy float32 matrices, for tests and benchmarks.

    `way` is ``'panels'``, ``'amx'`` (at level ``'amx'`` alone, k > 0) or ``'narrow'`` (a is not
    transposed). With `packed`, which only AMX takes, b is packed before, and then not read.
    Returned is what lies behind the scratch: bytes of 255.
    """
    cdef Product p
    cdef int at = _level_number(level)
    cdef ProductKernel taken = <ProductKernel><int>KERNELS.index(way)
    cdef size_t size = cpp_product_bytes(at, threads)
    cdef size_t pa = a.ctypes.data, pb = b.ctypes.data, pc = c.ctypes.data
    cdef size_t pbias = 0 if bias is None else bias.ctypes.data
    cdef size_t pmask = 0 if mask is None else mask.ctypes.data
    p.m, p.n, p.k = c.shape[0], c.shape[1], a.shape[0] if a_transposed else a.shape[1]
    p.a, p.a_row, p.a_transposed = <float*>pa, a.shape[1], a_transposed
    p.b, p.b_row, p.b_transposed = <float*>pb, b.shape[1], b_transposed
    p.c, p.c_row, p.bias, p.relu, p.add = <float*>pc, c.shape[1], <float*>pbias, relu, add
    p.b_shared = b_shared
    cdef size_t psums = 0 if sums is None else sums.ctypes.data
    p.mask, p.sums, p.add_sums = <float*>pmask, <float*>psums, add_sums
    buffer, start = _allocate_scratch(size)
    cdef size_t space = buffer.ctypes.data + start, ppacked
    if packed:
        packed_buffer, first = _allocate_scratch(4 * cpp_packed_size(p.n, p.k))
        ppacked = packed_buffer.ctypes.data + first
        cpp_pack(p.b, p.b_row, b_transposed, p.k, p.n, <float*>ppacked, threads)
        p.packed = <float*>ppacked
        p.b = NULL
    with nogil:
        cpp_product(at, taken, p, threads, <char*>space)
    return buffer[start + size:]


cdef ConvWindow _window_shape(x, w, y, stride, dilate, pad):
    cdef ConvWindow s
    s.batch, s.height, s.width, s.channels = x
    s.filters, _, s.kernel_h, s.kernel_w = w
    _, s.out_height, s.out_width, _ = y
    s.stride_h, s.stride_w = stride
    s.dilate_h, s.dilate_w = dilate
    s.pad_h, s.pad_w = pad
    return s


def _convolve_arrays(what, x, w, y, stride, dilate, pad, bias=None, bint relu=False, bint add=False,
                     int threads=1, level=None):
    """Run one of the three convolutions on C-contiguous NumPy float32 arrays, for tests.

    `what` is ``'forward'``, ``'backward_data'``, ``'backward_weight'``, ``'spread'`` or
    ``'packed_spread'``, with the weights packed before; y, x, w, x or x is written.
    What lies behind the scratch and the packed weights is returned: bytes of 255.
    """
    cdef ConvWindow shape = _window_shape(x.shape, w.shape, y.shape, stride, dilate, pad)
    cdef int at = _level_number(level)
    cdef int which = ("forward", "backward_data", "backward_weight", "spread",
                      "packed_spread").index(what)
    cdef size_t size = (cpp_scatter_bytes(at, shape, threads, which == 4) if which > 2
                        else cpp_window_bytes(at, shape, threads, which > 0))
    cdef size_t packed_size = 4 * cpp_scatter_packed_size(at, shape) if which == 4 else 0
    buffer, start = _allocate_scratch(size)
    packed, first = _allocate_scratch(packed_size)
    cdef size_t space = buffer.ctypes.data + start, ppacked = packed.ctypes.data + first
    cdef size_t px = x.ctypes.data, pw = w.ctypes.data, py = y.ctypes.data
    cdef size_t pb = 0 if bias is None else bias.ctypes.data
    with nogil:
        if which == 0:
            cpp_forward(at, shape, <float*>px, <float*>pw, <float*>pb, relu, <float*>py, add,
                        threads, <char*>space)
        elif which == 1:
            cpp_backward_data(at, shape, <float*>pw, <float*>py, <float*>px, add, threads,
                              <char*>space)
        elif which == 2:
            cpp_backward_weight(at, shape, <float*>px, <float*>py, <float*>pw, add, threads,
                                <char*>space)
        else:
            if which == 4:
                cpp_scatter_pack(at, shape, <float*>pw, threads, <float*>ppacked)
                pw = ppacked
            cpp_scatter(at, shape, <float*>pw, which == 4, <float*>py, <float*>px, add, threads,
                        <char*>space)
    return np.concatenate([buffer[start + size:], packed[first + packed_size:]])
