"""Matrices of float32 transposed in memory; the memory of the two sides must not overlap."""

from libc.stdint cimport int64_t

# y[b][j][i] (+)= x[b][i][j]: x (batch, rows, columns), y (batch, columns, rows)
cdef void transpose_3d(int64_t batch, int64_t rows, int64_t columns, const float* x, float* y,
                       bint add) noexcept nogil
# y[j * y_step + i] (+)= x[i * x_step + j] for i < rows, j < columns, on one thread
cdef void transpose_2d(int64_t rows, int64_t columns, const float* x, int64_t x_step, float* y,
                       int64_t y_step, bint add) noexcept nogil
# dst (+)= src, views with strides in elements (of four bytes; to be added: floats), of at most 16
# axes, none of length 1 or joinable with the next. Does nothing and returns false unless that is a
# transposition large enough.
cdef bint try_transpose(int ndim, const int64_t* shape, const int64_t* dst_stride,
                        const int64_t* src_stride, void* dst, const void* src, bint add,
                        int threads) noexcept nogil
