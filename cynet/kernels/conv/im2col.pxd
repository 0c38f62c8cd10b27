"""Convolution over up to three spatial axes by matrix products: of unrolled windows (im2col), or
forward by implicit gemm, which reads the image in place."""

from cython cimport floating
from libc.stdint cimport int64_t

cdef struct ConvShape:  # sizes of a convolution, and its tiles
    # x (batch, channels, in_size), w (filters, channels / groups, kernel), y (batch, filters,
    # out_size); fewer than three axes: the first ones have size 1.
    int64_t batch, channels, filters, groups
    int64_t in_size[3]
    int64_t out_size[3]
    int64_t kernel[3]
    int64_t stride[3]
    int64_t pad[3]
    int64_t dilate[3]
    # derived by `conv_fill_dims`
    int64_t in_space, out_space  # number of input and output positions
    int64_t unrolled             # channels / groups * kernel: rows of an unrolled window
    int64_t tile, tiles          # output positions of a tile; tiles per image
    bint plain                   # 1x1 without stride and pad: the input is the unrolled matrix
    bint implicit                # forward by implicit gemm (implicit_gemm.h)

# Fills in the derived fields. `implicit`: forward is implicit gemm (float32, not `plain`).
cdef void conv_fill_dims(ConvShape* shape, bint implicit) noexcept nogil  # derived sizes, tiles
# The number of threads, and the elements of workspace that the functions below need.
cdef int conv_threads(const ConvShape* shape) noexcept nogil
cdef int64_t conv_workspace_elements(const ConvShape* shape, int threads,
                                     bint weight_gradient) noexcept nogil

# y = w * x (+ bias) (+ y). bias may be NULL.
cdef void conv_forward(const ConvShape* shape, const floating* x, const floating* w,
                       const floating* bias,
                       floating* y, bint add, int threads, floating* space) noexcept nogil
# dx = w transposed * dy (+ dx)
cdef void conv_backward_data(const ConvShape* shape, const floating* w, const floating* dy,
                             floating* dx, bint add, int threads, floating* space) noexcept nogil
# dw = dy * x (+ dw)
cdef void conv_backward_weight(const ConvShape* shape, const floating* x, const floating* dy,
                               floating* dw, bint add, int threads, floating* space) noexcept nogil
