"""Convolution by matrix products (contract in im2col.pxd).

Where images are unrolled, their tiles are spread over threads, each with a product of one thread
and a tile that stays in its cache; with fewer tiles than threads the loop is serial and gemm itself
spreads.
"""

from cython.parallel cimport prange
from libc.string cimport memset

from ..gemm.blas cimport gemm
from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

from ..isa.dispatch import cpu_capabilities

import numpy as np

cdef extern from "conv/implicit_gemm.h" namespace "cynet" nogil:
    struct ImageShape:
        int64_t channels, filters
        int64_t size[3]
        int64_t out[3]
        int64_t kernel[3]
        int64_t stride[3]
        int64_t dilate[3]
        int64_t pad[3]
        int64_t batch, groups
    int64_t image_workspace_floats(const ImageShape& shape, int threads) noexcept
    void convolve_nchw(int level, const ImageShape& shape, const float* x, const float* w,
                       const float* bias, float* y, bint add, int threads, float* space) noexcept

cdef enum:
    TILE_ELEMENTS = 1 << 17  # elements of one unrolled tile: half a megabyte of floats
    MIN_TILE = 48          # minimum output positions; gemm is slow for narrower products
    MIN_TASKS = 8          # with fewer tiles in all images, threads would be idle
    MAX_PARTIAL_SUMS = 8   # maximum partial sums of a weight's gradient
    MAX_SUM_ELEMENTS = 1 << 21  # maximum elements of all partial sums, if more than two
    MIN_PIXELS = 512       # minimum pixels of a partial sum


cdef inline int64_t _ceil_div(int64_t a, int64_t b) noexcept nogil:
    return (a + b - 1) // b if a > 0 else 0


cdef ImageShape _image_shape(const ConvShape* shape) noexcept nogil:
    cdef ImageShape image
    cdef int i
    image.batch, image.groups = shape.batch, shape.groups
    image.channels = shape.channels // shape.groups
    image.filters = shape.filters // shape.groups
    for i in range(3):
        image.size[i] = shape.in_size[i] + 2 * shape.pad[i]
        image.out[i], image.pad[i] = shape.out_size[i], shape.pad[i]
        image.kernel[i] = shape.kernel[i]
        image.stride[i], image.dilate[i] = shape.stride[i], shape.dilate[i]
    return image


cdef void conv_fill_dims(ConvShape* shape, bint implicit) noexcept nogil:  # derived sizes, tiles
    cdef int i
    cdef int64_t parts = shape.batch * shape.groups
    shape.in_space = shape.in_size[0] * shape.in_size[1] * shape.in_size[2]
    shape.out_space = shape.out_size[0] * shape.out_size[1] * shape.out_size[2]
    shape.unrolled = shape.channels // shape.groups
    shape.unrolled *= shape.kernel[0] * shape.kernel[1] * shape.kernel[2]
    shape.plain = True
    for i in range(3):
        if shape.kernel[i] != 1 or shape.stride[i] != 1 or shape.pad[i] != 0:
            shape.plain = False
    shape.tiles = _ceil_div(shape.out_space, max(TILE_ELEMENTS // shape.unrolled, MIN_TILE))
    if shape.plain or shape.tiles < 1:
        shape.tiles = 1
    elif parts * shape.tiles < MIN_TASKS:  # threads get equal shares of a power of two
        while shape.tiles & (shape.tiles - 1):
            shape.tiles += 1
        while (parts * shape.tiles < MIN_TASKS // 2
               and shape.out_space >= 2 * shape.tiles * MIN_TILE):
            shape.tiles *= 2
    shape.tile = _ceil_div(shape.out_space, shape.tiles)
    shape.implicit = implicit


cdef int conv_threads(const ConvShape* shape) noexcept nogil:
    cdef int64_t products = shape.batch * shape.filters * shape.unrolled * shape.out_space
    return threads_for(products // 8)


cdef int64_t conv_workspace_elements(const ConvShape* shape, int threads,
                                     bint weight_gradient) noexcept nogil:
    cdef int64_t each = 0 if shape.plain else shape.unrolled * shape.tile
    if shape.implicit and not weight_gradient:
        return image_workspace_floats(_image_shape(shape), threads)
    if weight_gradient:
        return 1 + each * threads + shape.filters * shape.unrolled * (
            _count_partial_sums(shape) - 1)
    return each * threads + 1


cdef int64_t _count_partial_sums(const ConvShape* shape) noexcept nogil:
    """The number of partial sums of a weight's gradient; depends on the shape alone, not on
    threads."""
    cdef int64_t fitting = MAX_SUM_ELEMENTS // (shape.filters * shape.unrolled)
    return max(1, min(min(shape.batch * shape.tiles, shape.batch * shape.out_space // MIN_PIXELS),
                      max(2, min(MAX_PARTIAL_SUMS, fitting))))


cdef void _im2col(const ConvShape* shape, const floating* x, int64_t first, int64_t last,
                  floating* cols) noexcept nogil:
    """The columns of one group: cols[(c, k), p - first] is the element of channel c that tap k of
    the kernel meets for output p, zero in the padding."""
    cdef int64_t c, kd, kh, kw, row, w0, w1, lo, hi, w, d, h, start, step = shape.stride[2]
    cdef int64_t ow = shape.out_size[2], iw = shape.in_size[2]
    cdef const floating* line
    for c in range(shape.channels // shape.groups):
        for kd in range(shape.kernel[0]):
            for kh in range(shape.kernel[1]):
                for kw in range(shape.kernel[2]):
                    start = kw * shape.dilate[2] - shape.pad[2]  # input column of output column 0
                    lo = _ceil_div(-start, step)
                    hi = _ceil_div(iw - start, step)
                    for row in range(first // ow, (last + ow - 1) // ow):
                        w0 = first - row * ow if first > row * ow else 0
                        w1 = last - row * ow if last < (row + 1) * ow else ow
                        d = (row // shape.out_size[1]) * shape.stride[0] - shape.pad[0] \
                            + kd * shape.dilate[0]
                        h = (row % shape.out_size[1]) * shape.stride[1] - shape.pad[1] \
                            + kh * shape.dilate[1]
                        if d < 0 or d >= shape.in_size[0] or h < 0 or h >= shape.in_size[1]:
                            memset(cols, 0, (w1 - w0) * sizeof(floating))
                            cols += w1 - w0
                            continue
                        line = x + ((c * shape.in_size[0] + d) * shape.in_size[1] + h) * iw + start
                        while w0 < w1 and w0 < lo:
                            cols[0] = 0
                            cols += 1
                            w0 += 1
                        if step == 1:
                            for w in range(w0, min(w1, hi)):
                                cols[w - w0] = line[w]
                        else:
                            for w in range(w0, min(w1, hi)):
                                cols[w - w0] = line[w * step]
                        if w0 < min(w1, hi):
                            cols += min(w1, hi) - w0
                            w0 = min(w1, hi)
                        while w0 < w1:
                            cols[0] = 0
                            cols += 1
                            w0 += 1


cdef void _col2im(const ConvShape* shape, const floating* cols, int64_t first, int64_t last,
                  floating* x) noexcept nogil:
    """x[c, position p looks at through k] += cols[(c, k), p - first]; one group of an image."""
    cdef int64_t c, kd, kh, kw, row, w0, w1, lo, hi, w, d, h, start, step = shape.stride[2]
    cdef int64_t ow = shape.out_size[2], iw = shape.in_size[2]
    cdef floating* line
    for c in range(shape.channels // shape.groups):
        for kd in range(shape.kernel[0]):
            for kh in range(shape.kernel[1]):
                for kw in range(shape.kernel[2]):
                    start = kw * shape.dilate[2] - shape.pad[2]
                    lo = _ceil_div(-start, step)
                    hi = _ceil_div(iw - start, step)
                    for row in range(first // ow, (last + ow - 1) // ow):
                        w0 = first - row * ow if first > row * ow else 0
                        w1 = last - row * ow if last < (row + 1) * ow else ow
                        d = (row // shape.out_size[1]) * shape.stride[0] - shape.pad[0] \
                            + kd * shape.dilate[0]
                        h = (row % shape.out_size[1]) * shape.stride[1] - shape.pad[1] \
                            + kh * shape.dilate[1]
                        if 0 <= d < shape.in_size[0] and 0 <= h < shape.in_size[1]:
                            line = x + start \
                                + ((c * shape.in_size[0] + d) * shape.in_size[1] + h) * iw
                            if step == 1:
                                for w in range(max(w0, lo), min(w1, hi)):
                                    line[w] += cols[w - w0]
                            else:
                                for w in range(max(w0, lo), min(w1, hi)):
                                    line[w * step] += cols[w - w0]
                        cols += w1 - w0


cdef void _compute_tile(const ConvShape* shape, const floating* x, const floating* w,
                        const floating* bias,
                        floating* y, bint add, int64_t task, floating* cols) noexcept nogil:
    """Computes y for one tile of one group of one image."""
    cdef int64_t per_group = shape.filters // shape.groups
    cdef int64_t first = task % shape.tiles * shape.tile
    cdef int64_t width = min(shape.tile, shape.out_space - first)
    cdef int64_t group = task // shape.tiles % shape.groups
    cdef int64_t image = task // shape.tiles // shape.groups
    cdef int64_t f, p, stride
    cdef int64_t depth = shape.channels // shape.groups
    cdef const floating* part = x + (image * shape.channels + group * depth) * shape.in_space
    cdef floating* out = y + (image * shape.filters + group * per_group) * shape.out_space + first
    cdef floating* line
    cdef floating beta = 1 if add else 0
    if bias != NULL:
        beta = 1
        for f in range(per_group):
            line = out + f * shape.out_space
            if add:
                for p in range(width):
                    line[p] += bias[group * per_group + f]
            else:
                for p in range(width):
                    line[p] = bias[group * per_group + f]
    if shape.plain:
        stride = shape.in_space
    else:
        _im2col(shape, part, first, first + width, cols)
        part = cols
        stride = width
    gemm(False, False, per_group, width, shape.unrolled, <floating>1,
         w + group * per_group * shape.unrolled, shape.unrolled, part, stride, beta, out,
         shape.out_space)


cdef void conv_forward(const ConvShape* shape, const floating* x, const floating* w,
                       const floating* bias,
                       floating* y, bint add, int threads, floating* space) noexcept nogil:
    cdef int64_t tasks = shape.batch * shape.groups * shape.tiles
    cdef int64_t each = 0 if shape.plain else shape.unrolled * shape.tile
    cdef int64_t task
    cdef int t
    if floating is float:
        if shape.implicit:
            convolve_nchw(cpu_level(), _image_shape(shape), x, w, bias, y, add, threads, space)
            return
    if tasks < threads:
        for task in range(tasks):
            _compute_tile(shape, x, w, bias, y, add, task, space)
        return
    for t in prange(threads, num_threads=threads, schedule="static"):
        for task in range(tasks * t // threads, tasks * (t + 1) // threads):
            _compute_tile(shape, x, w, bias, y, add, task, space + t * each)


cdef void _compute_dx(const ConvShape* shape, const floating* w, const floating* dy, floating* dx,
                      bint add, int64_t task, floating* cols) noexcept nogil:
    """Computes dx for one group of one image."""
    cdef int64_t per_group = shape.filters // shape.groups, depth = shape.channels // shape.groups
    cdef int64_t group = task % shape.groups, image = task // shape.groups
    cdef int64_t tile, first, width
    cdef const floating* weight = w + group * per_group * shape.unrolled
    cdef const floating* grad = dy + (image * shape.filters + group * per_group) * shape.out_space
    cdef floating* out = dx + (image * shape.channels + group * depth) * shape.in_space
    if shape.plain:
        gemm(True, False, shape.unrolled, shape.out_space, per_group, <floating>1, weight,
             shape.unrolled,
             grad, shape.out_space, <floating>(1 if add else 0), out, shape.in_space)
        return
    if not add:
        memset(out, 0, depth * shape.in_space * sizeof(floating))
    for tile in range(shape.tiles):
        first = tile * shape.tile
        width = min(shape.tile, shape.out_space - first)
        gemm(True, False, shape.unrolled, width, per_group, <floating>1, weight, shape.unrolled,
             grad + first, shape.out_space, <floating>0, cols, width)
        _col2im(shape, cols, first, first + width, out)


cdef void conv_backward_data(const ConvShape* shape, const floating* w, const floating* dy,
                             floating* dx, bint add, int threads, floating* space) noexcept nogil:
    cdef int64_t tasks = shape.batch * shape.groups
    cdef int64_t each = 0 if shape.plain else shape.unrolled * shape.tile
    cdef int64_t task
    cdef int t
    if tasks < threads:
        for task in range(tasks):
            _compute_dx(shape, w, dy, dx, add, task, space)
        return
    for t in prange(threads, num_threads=threads, schedule="static"):
        for task in range(tasks * t // threads, tasks * (t + 1) // threads):
            _compute_dx(shape, w, dy, dx, add, task, space + t * each)


cdef void _add_to_dw(const ConvShape* shape, const floating* x, const floating* dy, floating* dw,
                     int64_t task, bint add, floating* cols) noexcept nogil:
    """Adds one tile of one image to dw, for all groups."""
    cdef int64_t per_group = shape.filters // shape.groups, depth = shape.channels // shape.groups
    cdef int64_t first = task % shape.tiles * shape.tile
    cdef int64_t width = min(shape.tile, shape.out_space - first)
    cdef int64_t image = task // shape.tiles
    cdef int64_t group, stride
    cdef const floating* part
    for group in range(shape.groups):
        part = x + (image * shape.channels + group * depth) * shape.in_space
        if shape.plain:
            stride = shape.in_space
        else:
            _im2col(shape, part, first, first + width, cols)
            part = cols
            stride = width
        gemm(False, True, per_group, shape.unrolled, width, <floating>1,
             dy + (image * shape.filters + group * per_group) * shape.out_space + first,
             shape.out_space,
             part, stride, <floating>(1 if add else 0), dw + group * per_group * shape.unrolled,
             shape.unrolled)


cdef void conv_backward_weight(const ConvShape* shape, const floating* x, const floating* dy,
                               floating* dw, bint add, int threads, floating* space) noexcept nogil:
    cdef int64_t tasks = shape.batch * shape.tiles, parts = _count_partial_sums(shape)
    cdef int64_t each = 0 if shape.plain else shape.unrolled * shape.tile
    cdef int64_t size = shape.filters * shape.unrolled
    cdef int64_t task, part, i
    cdef floating* sums = space + threads * each
    cdef floating* mine
    cdef floating total
    cdef int t
    if parts == 1:
        for task in range(tasks):
            _add_to_dw(shape, x, dy, dw, task, add or task > 0, space)
        return
    for t in prange(threads, num_threads=threads, schedule="static"):
        for part in range(parts * t // threads, parts * (t + 1) // threads):
            mine = dw if part == 0 else sums + (part - 1) * size
            for task in range(tasks * part // parts, tasks * (part + 1) // parts):
                _add_to_dw(shape, x, dy, mine, task,
                           task > tasks * part // parts or (add and part == 0),
                           space + t * each)
    for t in prange(threads, num_threads=threads, schedule="static"):
        for i in range(size * t // threads, size * (t + 1) // threads):
            total = dw[i]
            for part in range(parts - 1):
                total = total + sums[part * size + i]
            dw[i] = total


def _run_implicit_gemm(x, w, y, stride, dilate, pad, bias=None, bint add=False, int threads=1,
                       level=None):
    """convolve_nchw on C-contiguous NumPy float32 arrays with three spatial axes, for tests.

    The second axes say how many groups there are: y = w * x (+ bias) (+ y). Returned is what lies
    behind the scratch, bytes of 255.
    """
    cdef ImageShape s
    cdef int at = cpu_level() if level is None else cpu_capabilities().index(level)
    cdef int i
    s.groups, s.channels = x.shape[1] // w.shape[1], w.shape[1]
    s.batch, s.filters = x.shape[0], w.shape[0] // s.groups
    for i in range(3):
        s.kernel[i], s.stride[i], s.dilate[i] = w.shape[2 + i], stride[i], dilate[i]
        s.pad[i] = pad[i]
        s.size[i], s.out[i] = x.shape[2 + i] + 2 * pad[i], y.shape[2 + i]
    cdef int64_t size = image_workspace_floats(s, threads)
    buffer = np.full(4 * size + 128, 255, np.uint8)
    start = -buffer.ctypes.data % 64
    cdef size_t space = buffer.ctypes.data + start
    cdef size_t px = x.ctypes.data, pw = w.ctypes.data, py = y.ctypes.data
    cdef size_t pb = 0 if bias is None else bias.ctypes.data
    with nogil:
        convolve_nchw(at, s, <float*>px, <float*>pw, <float*>pb, <float*>py, add, threads,
                      <float*>space)
    return buffer[start + 4 * size:]
