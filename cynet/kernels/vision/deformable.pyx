"""Deformable convolution (contract in deformable.pxd).

Images and tiles of their positions one after another; within one, samples are spread over threads
by point of the window, and their gradient by channel, so that sums keep their order. Products are
cut into parts that do not depend on the number of threads, since BLAS sums in an order that depends
on the size.
"""

from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport int64_t
from libc.string cimport memset

from ..gemm.blas cimport gemm
from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "vision/deformable.h" namespace "cynet" nogil:
    void deform_sample_columns[T](int threads, int level, const DeformShape* s, const T* data,
                                  const T* offset, const T* mask, T* columns, int64_t first,
                                  int64_t n) noexcept
    void deform_data_grad[T](int threads, int level, const DeformShape* s, const T* offset,
                             const T* mask, const T* columns, int64_t first, int64_t n,
                             T* dx) noexcept
    void deform_offset_grad[T](int threads, int level, const DeformShape* s, const T* data,
                               const T* offset, const T* mask, const T* columns, int64_t first,
                               int64_t n, T* doffset, T* dmask, bint add_offset,
                               bint add_mask) noexcept

cdef enum:
    TILE_ELEMENTS = 1 << 19  # elements of one unrolled tile: two megabytes of floats
    MIN_TILE_POSITIONS = 64  # output positions
    PRODUCT_PARTS = 8        # parts of a matrix product


cdef void deform_fill_dims(DeformShape* shape) noexcept nogil:
    shape.in_space = shape.in_size[0] * shape.in_size[1]
    shape.out_space = shape.out_size[0] * shape.out_size[1]
    shape.taps = shape.kernel[0] * shape.kernel[1]
    shape.tile = max(TILE_ELEMENTS // (shape.channels * shape.taps), <int64_t>MIN_TILE_POSITIONS)
    shape.tile = min(shape.tile, shape.out_space)


cdef int64_t deform_workspace_elements(const DeformShape* shape) noexcept nogil:
    return shape.channels * shape.taps * shape.tile


cdef inline int _thread_count(const DeformShape* s, int64_t n) noexcept nogil:
    return threads_for(s.channels * s.taps * n * 8)  # a sample takes about eight steps


cdef void _multiply(bint trans_a, bint trans_b, int64_t m, int64_t n, int64_t k,
                    const floating* a, int64_t lda, const floating* b, int64_t ldb, floating beta,
                    floating* c, int64_t ldc) noexcept nogil:
    """C = op(A) op(B) + beta C, by parts of its columns."""
    cdef int64_t each = ((n + PRODUCT_PARTS - 1) // PRODUCT_PARTS + 15) // 16 * 16
    cdef int64_t parts = (n + each - 1) // each, i
    cdef int threads = min(threads_for(m * n * k // 8), <int>parts)
    for i in prange(parts, num_threads=threads, schedule="static"):
        gemm(trans_a, trans_b, m, min(each, n - i * each), k, <floating>1, a, lda,
             b + i * each * (ldb if trans_b else 1), ldb, beta, c + i * each, ldc)


cdef void deform_forward(const DeformShape* shape, const floating* x, const floating* offset,
                         const floating* mask, const floating* w, const floating* bias,
                         floating* y, bint add, floating* space) noexcept nogil:
    cdef int64_t per_group = shape.filters // shape.groups
    cdef int64_t rows = shape.channels // shape.groups * shape.taps
    cdef int64_t shifts = shape.offset_groups * shape.taps * shape.out_space
    cdef int64_t tiles = (shape.out_space + shape.tile - 1) // shape.tile
    cdef int64_t image, tile, first, n, g, f, i
    cdef floating* line
    for image in range(shape.batch):
        if bias != NULL:
            for f in range(shape.filters):
                line = y + (image * shape.filters + f) * shape.out_space
                for i in range(shape.out_space):
                    line[i] = line[i] + bias[f] if add else bias[f]
        for tile in range(tiles):
            first = tile * shape.tile
            n = min(shape.tile, shape.out_space - first)
            deform_sample_columns(_thread_count(shape, n), cpu_level(), shape,
                                  x + image * shape.channels * shape.in_space,
                                  offset + image * 2 * shifts,
                                  mask + image * shifts if mask != NULL else mask, space, first, n)
            for g in range(shape.groups):
                _multiply(False, False, per_group, n, rows, w + g * per_group * rows, rows,
                          <const floating*>space + g * rows * n, n, <floating>(add or bias != NULL),
                          y + (image * shape.filters + g * per_group) * shape.out_space + first,
                          shape.out_space)


cdef void deform_backward(const DeformShape* shape, const floating* x, const floating* offset,
                          const floating* mask, const floating* w, const floating* dy,
                          const DeformGrads* grads, floating* space) noexcept nogil:
    cdef int64_t per_group = shape.filters // shape.groups
    cdef int64_t rows = shape.channels // shape.groups * shape.taps
    cdef int64_t shifts = shape.offset_groups * shape.taps * shape.out_space
    cdef int64_t pixels = shape.channels * shape.in_space
    cdef int64_t tiles = (shape.out_space + shape.tile - 1) // shape.tile
    cdef int64_t image, tile, first, n, g
    cdef int threads
    cdef bint columns = grads.data != NULL or grads.offset != NULL or grads.mask != NULL
    cdef floating* dw = <floating*>grads.weight
    cdef floating* dx = <floating*>grads.data
    cdef floating* doffset = <floating*>grads.offset
    cdef floating* dmask = <floating*>grads.mask
    cdef const floating* part
    cdef const floating* factor
    if dx != NULL and not grads.add[0]:
        memset(dx, 0, shape.batch * pixels * sizeof(floating))
    if dw != NULL and not grads.add[3]:
        memset(dw, 0, shape.filters * rows * sizeof(floating))
    for image in range(shape.batch):
        factor = mask + image * shifts if mask != NULL else mask
        for tile in range(tiles):
            first = tile * shape.tile
            n = min(shape.tile, shape.out_space - first)
            threads = _thread_count(shape, n)
            part = dy + image * shape.filters * shape.out_space + first
            if dw != NULL:
                deform_sample_columns(threads, cpu_level(), shape, x + image * pixels,
                                      offset + image * 2 * shifts, factor, space, first, n)
                for g in range(shape.groups):
                    _multiply(False, True, per_group, rows, n,
                              part + g * per_group * shape.out_space, shape.out_space,
                              <const floating*>space + g * rows * n, n, <floating>1,
                              dw + g * per_group * rows, rows)
            if not columns:
                continue
            for g in range(shape.groups):
                _multiply(True, False, rows, n, per_group, w + g * per_group * rows, rows,
                          part + g * per_group * shape.out_space, shape.out_space, <floating>0,
                          space + g * rows * n, n)
            if dx != NULL:
                deform_data_grad(threads, cpu_level(), shape, offset + image * 2 * shifts, factor,
                                 <const floating*>space, first, n, dx + image * pixels)
            if doffset != NULL or dmask != NULL:
                deform_offset_grad(threads, cpu_level(), shape, x + image * pixels,
                                   offset + image * 2 * shifts, factor, <const floating*>space,
                                   first, n,
                                   doffset + image * 2 * shifts if doffset != NULL else doffset,
                                   dmask + image * shifts if dmask != NULL else dmask,
                                   grads.add[1], grads.add[2])
