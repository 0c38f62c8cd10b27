"""Pooling (contract in pooling.pxd): planes are spread over threads."""

from cython.parallel cimport prange
from libc.float cimport DBL_MAX, FLT_MAX
from libc.string cimport memset

from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "pooling/pooling.h" namespace "cynet" nogil:
    bint pools_by_rows(const PoolShape& s) noexcept
    void pool_plane[T](int level, const PoolShape& s, const T* x, T* y, bint add) noexcept
    bint spreads_by_rows(const PoolShape& s) noexcept
    bint pools_tile(const PoolShape& s) noexcept
    void pool_plane_backward[T](int level, const PoolShape& s, const T* dy, const T* x, T* dx,
                                bint fresh) noexcept

cdef extern from "<cmath>" namespace "std" nogil:
    float sqrt(float) noexcept
    double sqrt(double) noexcept
    float cbrt(float) noexcept
    double cbrt(double) noexcept

cdef struct Window:
    # where one output looks: [begin, end) of each axis inside the input, and what an average
    # divides by
    int64_t begin[3]
    int64_t end[3]
    int64_t counted


cdef inline int64_t _place(const PoolShape* s, int axis, int64_t at, Window* window) noexcept nogil:
    """Set the window of output `at` along one axis; returns its extent as an average counts it."""
    cdef int64_t begin = at * s.stride[axis] - s.pad[axis]
    cdef int64_t end = begin + s.kernel[axis]
    cdef int64_t most = s.in_size[axis] + s.pad_after[axis]
    cdef int64_t counted = (end if end < most else most) - begin
    if begin < 0:
        begin = 0
    if end > s.in_size[axis]:
        end = s.in_size[axis]
    window.begin[axis] = begin
    window.end[axis] = end
    if not s.count_pad:
        counted = end - begin
    return counted if counted > 0 else 0


cdef inline floating _largest(const PoolShape* s, const Window* window, const floating* x,
                              int64_t* where) noexcept nogil:
    """The first maximum in the window, or a NaN; `where` is its place, -1 in an empty window."""
    cdef int64_t d, h, w, row
    cdef floating best, value
    if floating is float:
        best = -FLT_MAX
    else:
        best = -DBL_MAX
    where[0] = -1
    for d in range(window.begin[0], window.end[0]):
        for h in range(window.begin[1], window.end[1]):
            row = (d * s.in_size[1] + h) * s.in_size[2]
            for w in range(window.begin[2], window.end[2]):
                value = x[row + w]
                if value > best or value != value or where[0] < 0:
                    if best != best:
                        return best
                    best = value
                    where[0] = row + w
    return best


cdef inline floating _total(const PoolShape* s, const Window* window,
                            const floating* x) noexcept nogil:
    cdef int64_t d, h, w
    cdef const floating* row
    cdef floating total = 0
    cdef int p = s.p if s.type == kLpPool else 1
    for d in range(window.begin[0], window.end[0]):
        for h in range(window.begin[1], window.end[1]):
            row = x + (d * s.in_size[1] + h) * s.in_size[2]
            for w in range(window.begin[2], window.end[2]):
                if p == 1:
                    total += row[w]
                elif p == 2:
                    total += row[w] * row[w]
                else:
                    total += row[w] * row[w] * row[w]
    if p == 2:
        return sqrt(total)
    if p == 3:
        return cbrt(total)
    if s.type == kAvgPool:
        return total / window.counted if window.counted > 0 else 0
    return total


cdef void _plane_forward(const PoolShape* s, const floating* x, floating* y,
                         bint add) noexcept nogil:
    cdef Window window
    cdef int64_t d, h, w, where, deep, high
    cdef floating value
    for d in range(s.out_size[0]):
        deep = _place(s, 0, d, &window)
        for h in range(s.out_size[1]):
            high = deep * _place(s, 1, h, &window)
            for w in range(s.out_size[2]):
                window.counted = high * _place(s, 2, w, &window)
                if s.type == kMaxPool:
                    value = _largest(s, &window, x, &where)
                else:
                    value = _total(s, &window, x)
                if add:
                    y[0] += value
                else:
                    y[0] = value
                y += 1


cdef void _spread(const PoolShape* s, const Window* window, const floating* x, floating grad,
                  floating out, floating* dx) noexcept nogil:
    """Add the gradient of one output to its window: every kind but max."""
    cdef int64_t d, h, w, row
    cdef floating ratio
    if s.type == kAvgPool:
        if window.counted <= 0:
            return
        grad = grad / window.counted
    elif s.type == kLpPool and s.p > 1 and out == 0:
        return
    for d in range(window.begin[0], window.end[0]):
        for h in range(window.begin[1], window.end[1]):
            row = (d * s.in_size[1] + h) * s.in_size[2]
            for w in range(row + window.begin[2], row + window.end[2]):
                if s.type != kLpPool or s.p == 1:
                    dx[w] += grad
                else:
                    ratio = x[w] / out
                    dx[w] += grad * (ratio if s.p == 2 else ratio * ratio)


cdef void _plane_backward(const PoolShape* s, const floating* dy, const floating* x,
                          const floating* y, floating* dx) noexcept nogil:
    cdef Window window
    cdef int64_t d, h, w, where, deep, high, i = 0
    for d in range(s.out_size[0]):
        deep = _place(s, 0, d, &window)
        for h in range(s.out_size[1]):
            high = deep * _place(s, 1, h, &window)
            for w in range(s.out_size[2]):
                window.counted = high * _place(s, 2, w, &window)
                if s.type == kMaxPool:
                    _largest(s, &window, x, &where)
                    if where >= 0:
                        dx[where] += dy[i]
                else:
                    _spread(s, &window, x, dy[i], y[i] if y != NULL else <floating>0, dx)
                i += 1


cdef inline int64_t _space(const int64_t* size) noexcept nogil:
    return size[0] * size[1] * size[2]


cdef void pool_forward(const PoolShape* shape, const floating* x, floating* y,
                       bint add) noexcept nogil:
    cdef int64_t inside = _space(shape.in_size), outside = _space(shape.out_size), plane
    cdef int threads = threads_for(shape.planes * outside * _space(shape.kernel))
    cdef bint by_rows = pools_by_rows(shape[0])
    for plane in prange(shape.planes, num_threads=threads, schedule="static"):
        if by_rows:
            pool_plane(cpu_level(), shape[0], x + plane * inside, y + plane * outside, add)
        else:
            _plane_forward(shape, x + plane * inside, y + plane * outside, add)


cdef void pool_backward(const PoolShape* shape, const floating* dy, const floating* x,
                        const floating* y, floating* dx, bint add) noexcept nogil:
    cdef int64_t inside = _space(shape.in_size), outside = _space(shape.out_size), plane
    cdef int threads = threads_for(shape.planes * outside * _space(shape.kernel))
    cdef bint by_rows = spreads_by_rows(shape[0])
    cdef bint fresh = by_rows and not add and shape.type != kMaxPool and pools_tile(shape[0])
    for plane in prange(shape.planes, num_threads=threads, schedule="static"):
        if not add and not fresh:
            memset(dx + plane * inside, 0, inside * sizeof(floating))
        if by_rows:
            pool_plane_backward(cpu_level(), shape[0], dy + plane * outside, x + plane * inside,
                                dx + plane * inside, fresh)
        else:
            _plane_backward(shape, dy + plane * outside, x + plane * inside,
                            y + plane * outside if y != NULL else y, dx + plane * inside)
