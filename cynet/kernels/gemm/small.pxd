"""Products of small float32 matrices, and convolutions of small images made of them (small.h).

All shapes are supported; the operators' lists of algorithms tell for which this is faster than BLAS
and oneDNN. `space` is scratch of product_workspace_bytes or window_workspace_bytes, aligned to 64.
Results do not depend on the number of threads.
"""

from libc.stdint cimport int64_t

cdef extern from "gemm/small.h" namespace "cynet" nogil:
    # c = relu(a b + bias + c). a is (m, k), or (k, m) where `a_transposed`; b is (k, n), or (n, k)
    # where `b_transposed`. Rows are a_row, b_row and c_row floats apart; `bias` has n floats or is
    # NULL. `b_shared`: all threads have just read the whole of b. `mask`, if not NULL: an output of
    # relu, laid out as c; c is multiplied by relu's gradient there. `sums`, if not NULL: the m sums
    # of the rows of a (transposed) are written there, or added if `add_sums`. `packed`, if not
    # NULL: b from pack_operand, read instead of b; a is not transposed.
    struct Product:
        int64_t m, n, k
        const float* a
        int64_t a_row
        bint a_transposed
        const float* b
        int64_t b_row
        bint b_transposed
        float* c
        int64_t c_row
        const float* bias
        bint relu, add
        bint b_shared
        const float* mask
        float* sums
        bint add_sums
        const float* packed

    # b in packed panels; by AMX, where the level has it; b in place, a not transposed.
    enum ProductKernel:
        PANELS
        TILES
        NARROW

    # x (batch, height, width, channels), y (batch, out_height, out_width, filters) and w (filters,
    # channels, kernel_h, kernel_w), each C-contiguous.
    struct ConvWindow:
        int64_t batch, height, width, channels, filters, out_height, out_width
        int64_t kernel_h, kernel_w, stride_h, stride_w, dilate_h, dilate_w, pad_h, pad_w

# True if every thread of the product reads all of a.
cdef bint product_shares_a(ProductKernel way, int64_t m, int64_t n, int threads) noexcept nogil
# The floats of b packed for TILES, and the packing. It must be aligned to 64 bytes.
cdef int64_t product_packed_size(int64_t n, int64_t k) noexcept nogil
cdef void pack_operand(const float* b, int64_t b_row, bint transposed, int64_t k, int64_t n,
                       float* to, int threads) noexcept nogil
cdef size_t product_workspace_bytes(int threads) noexcept nogil
cdef void run_product(const Product* p, ProductKernel way, int threads, char* space) noexcept nogil
# Narrow products, which read b in place and need no scratch; a is not transposed. Whether that is
# faster than a library's product; the product.
cdef bint product_is_narrow(int64_t m, int64_t n, int64_t k, bint b_transposed) noexcept nogil
cdef void run_narrow_product(const Product* p, int threads) noexcept nogil

# Bytes of scratch for window_forward, or with `backward` for both gradients.
cdef size_t window_workspace_bytes(const ConvWindow* shape, int threads,
                                   bint backward) noexcept nogil
# y = relu(x * w + bias + y): `bias` of `filters` numbers or NULL, `relu` and `add` where true.
cdef void window_forward(const ConvWindow* shape, const float* x, const float* w,
                         const float* bias, bint relu, float* y, bint add, int threads,
                         char* space) noexcept nogil
# dx = gradient of x, or dx += with `add`.
cdef void window_backward_data(const ConvWindow* shape, const float* w, const float* dy, float* dx,
                               bint add, int threads, char* space) noexcept nogil
# The gradient of x by adding windows of dy's pixels (no dilation): floats of the packed weights,
# aligned to 64; the packing; bytes of workspace; dx or dx +=.
cdef int64_t scatter_packed_size(const ConvWindow* shape) noexcept nogil
cdef void scatter_pack_w(const ConvWindow* shape, const float* w, int threads,
                         float* to) noexcept nogil
cdef size_t scatter_workspace_bytes(const ConvWindow* shape, int threads,
                                    bint packed) noexcept nogil
cdef void scatter_windows(const ConvWindow* shape, const float* w, bint packed, const float* dy,
                          float* dx, bint add, int threads, char* space) noexcept nogil
# dw = gradient of w, or dw += with `add`.
cdef void window_backward_weight(const ConvWindow* shape, const float* x, const float* dy,
                                 float* dw, bint add, int threads, char* space) noexcept nogil
# The gradient of depthwise w (channels, 1, kernel_h, kernel_w); x has at most 64 pixels.
cdef void window_depthwise_grad(const ConvWindow* shape, const float* x, const float* dy,
                                float* dw, bint add, int threads) noexcept nogil
