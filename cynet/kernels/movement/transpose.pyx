"""Transposition in memory (contract in transpose.pxd, loops in transpose.h)."""

from libc.stdint cimport int64_t

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

from ..isa.dispatch import cpu_capabilities

cdef extern from "movement/transpose.h" namespace "cynet" nogil:
    void c_axes "cynet::transpose_3d"(int level, int64_t batch, int64_t rows, int64_t columns,
                                      const float* x, float* y, bint add, int threads) noexcept
    void c_matrix "cynet::transpose_2d"(int level, int64_t rows, int64_t columns, const float* x,
                                        int64_t x_step, float* y, int64_t y_step,
                                        bint add) noexcept
    bint c_strided "cynet::try_transpose"(int level, int ndim, const int64_t* shape,
                                          const int64_t* dst_stride, const int64_t* src_stride,
                                          float* dst, const float* src, bint add,
                                          int threads) noexcept


cdef void transpose_3d(int64_t batch, int64_t rows, int64_t columns, const float* x, float* y,
                       bint add) noexcept nogil:
    c_axes(cpu_level(), batch, rows, columns, x, y, add, threads_for(batch * rows * columns))


cdef void transpose_2d(int64_t rows, int64_t columns, const float* x, int64_t x_step, float* y,
                       int64_t y_step, bint add) noexcept nogil:
    c_matrix(cpu_level(), rows, columns, x, x_step, y, y_step, add)


cdef bint try_transpose(int ndim, const int64_t* shape, const int64_t* dst_stride,
                        const int64_t* src_stride, void* dst, const void* src, bint add,
                        int threads) noexcept nogil:
    return c_strided(cpu_level(), ndim, shape, dst_stride, src_stride, <float*>dst,
                     <const float*>src, add, threads)


def _transpose_arrays(x, y, bint add=False, int threads=1, level=None):
    """`transpose_3d` of C-contiguous NumPy float32 arrays, x (batch, rows, columns), for tests."""
    cdef int at = cpu_level() if level is None else cpu_capabilities().index(level)
    cdef size_t px = x.ctypes.data, py = y.ctypes.data
    c_axes(at, x.shape[0], x.shape[1], x.shape[2], <const float*>px, <float*>py, add, threads)
