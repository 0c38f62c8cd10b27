"""Images (height, width, channels) of a dtype code: planes of floats, normalization, mirrors."""

from libc.stdint cimport int64_t

cdef extern from "image/pixels.h" namespace "cynet" nogil:
    # A row of one image: out (channels, height, width) (+)= data / 255; and its gradient.
    void to_tensor_row(int dtype, const void* data, int64_t row, int64_t height, int64_t width,
                       int64_t channels, float* out, bint add) noexcept
    void to_tensor_row_backward(int dtype, const float* dy, int64_t row, int64_t height,
                                int64_t width, int64_t channels, void* dx, bint add) noexcept
    # Plane `plane` of n elements: out (+)= (data - mean) / std
    void normalize_plane(int dtype, const void* data, int64_t plane, int64_t n, float mean,
                         float std, void* out, bint add) noexcept
    # Image `image`: out (+)= data, left to right (`sideways`) or top to bottom if it is mirrored
    void mirror(int dtype, const void* data, int64_t image, int64_t height, int64_t width,
                int64_t channels, bint sideways, bint mirrored, void* out, bint add) noexcept
