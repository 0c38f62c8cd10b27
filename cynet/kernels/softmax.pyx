"""Softmax (contract in softmax.pxd): lines are spread over threads."""

from cython.parallel cimport prange
from libc.stdint cimport int32_t

from .parallel cimport threads_for

cdef extern from "scalar_math.h" namespace "cynet::math" nogil:
    float exp(float) noexcept
    double exp(double) noexcept
    float log(float) noexcept
    double log(double) noexcept


cdef inline void _store(floating* y, floating value, bint add) noexcept nogil:
    if add:
        y[0] += value
    else:
        y[0] = value


cdef inline int64_t _length(const void* lengths, bint wide, int64_t line, int64_t n) noexcept nogil:
    cdef int64_t length
    if lengths == NULL:
        return n
    length = (<const int64_t*>lengths)[line] if wide else (<const int32_t*>lengths)[line]
    return n if length >= n else (length if length > 0 else 0)


cdef inline void _line_forward(const floating* x, floating* y, int64_t n, int64_t length,
                               int64_t step, floating scale, bint log_of, bint add) noexcept nogil:
    cdef int64_t i
    cdef floating top, total = 0
    if length > 0:
        top = x[0] * scale
        for i in range(1, length):
            top = x[i * step] * scale if x[i * step] * scale > top else top
        if log_of or add:
            for i in range(length):
                total += exp(x[i * step] * scale - top)
            if log_of:
                total = log(total)
                for i in range(length):
                    _store(y + i * step, x[i * step] * scale - top - total, add)
            else:
                for i in range(length):
                    y[i * step] += exp(x[i * step] * scale - top) / total
        else:
            for i in range(length):
                y[i * step] = exp(x[i * step] * scale - top)
            for i in range(length):
                total += y[i * step]
            total = 1 / total
            for i in range(length):
                y[i * step] *= total
    if not add:
        for i in range(length, n):
            y[i * step] = 0


cdef void softmax_forward(const floating* x, floating* y, int64_t outer, int64_t n, int64_t inner,
                          double temperature, bint log_of, const void* lengths, bint wide,
                          bint add) noexcept nogil:
    cdef int threads = threads_for(outer * n * inner * 8)
    cdef int64_t line, start
    cdef floating scale = <floating>(1 / temperature)
    for line in prange(outer * inner, num_threads=threads, schedule="static"):
        if inner == 1:  # a literal step lets the loops vectorise
            start = line * n
            _line_forward(x + start, y + start, n, _length(lengths, wide, line, n), 1, scale,
                          log_of, add)
        else:
            start = line // inner * n * inner + line % inner
            _line_forward(x + start, y + start, n, _length(lengths, wide, line, n), inner, scale,
                          log_of, add)


cdef inline void _line_backward(const floating* dy, const floating* y, floating* dx, int64_t n,
                                int64_t length, int64_t step, floating scale, bint log_of,
                                bint add) noexcept nogil:
    cdef int64_t i
    cdef floating total = 0
    if log_of:
        for i in range(length):
            total += dy[i * step]
        for i in range(length):
            _store(dx + i * step, scale * (dy[i * step] - exp(y[i * step]) * total), add)
    else:
        for i in range(length):
            total += dy[i * step] * y[i * step]
        for i in range(length):
            _store(dx + i * step, scale * y[i * step] * (dy[i * step] - total), add)
    if not add:
        for i in range(length, n):
            dx[i * step] = 0


cdef void softmax_backward(const floating* dy, const floating* y, floating* dx, int64_t outer,
                           int64_t n, int64_t inner, double temperature, bint log_of,
                           const void* lengths, bint wide, bint add) noexcept nogil:
    cdef int threads = threads_for(outer * n * inner * (8 if log_of else 2))
    cdef int64_t line, start
    cdef floating scale = <floating>(1 / temperature)
    for line in prange(outer * inner, num_threads=threads, schedule="static"):
        if inner == 1:
            start = line * n
            _line_backward(dy + start, y + start, dx + start, n, _length(lengths, wide, line, n),
                           1, scale, log_of, add)
        else:
            start = line // inner * n * inner + line % inner
            _line_backward(dy + start, y + start, dx + start, n, _length(lengths, wide, line, n),
                           inner, scale, log_of, add)
