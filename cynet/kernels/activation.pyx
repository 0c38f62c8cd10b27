"""Activation functions (contract in activation.pxd)."""

from cython.parallel cimport prange

from .parallel cimport threads_for

cdef extern from "<cmath>" namespace "std" nogil:
    float exp(float) noexcept
    double exp(double) noexcept
    float expm1(float) noexcept
    double expm1(double) noexcept
    float log1p(float) noexcept
    double log1p(double) noexcept
    float tanh(float) noexcept
    double tanh(double) noexcept
    float fabs(float) noexcept
    double fabs(double) noexcept


cdef inline void _store(floating* y, floating value, bint add) noexcept nogil:
    if add:
        y[0] += value
    else:
        y[0] = value


cdef void _forward(int kind, const floating* x, floating* y, int64_t n, bint add) noexcept nogil:
    cdef int64_t i
    cdef floating one = 1, zero = 0
    if kind == kReLU:
        if add:
            for i in range(n):
                y[i] += zero if x[i] < zero else x[i]  # this way round a NaN stays one
        else:
            for i in range(n):
                y[i] = zero if x[i] < zero else x[i]
    elif kind == kSigmoid:
        for i in range(n):
            _store(y + i, one / (one + exp(-x[i])), add)
    elif kind == kTanh:
        for i in range(n):
            _store(y + i, tanh(x[i]), add)
    elif kind == kSoftReLU:
        for i in range(n):
            _store(y + i, (x[i] if x[i] > zero else zero) + log1p(exp(-fabs(x[i])))
                   if x[i] == x[i] else x[i], add)
    else:
        for i in range(n):
            _store(y + i, x[i] / (one + fabs(x[i])), add)


cdef void _backward(int kind, const floating* dy, const floating* y, floating* dx, int64_t n,
                    bint add) noexcept nogil:
    cdef int64_t i
    cdef floating one = 1, zero = 0
    if kind == kReLU:
        if add:
            for i in range(n):
                dx[i] += dy[i] if y[i] > zero else zero
        else:
            for i in range(n):
                dx[i] = dy[i] if y[i] > zero else zero
    elif kind == kSigmoid:
        for i in range(n):
            _store(dx + i, dy[i] * y[i] * (one - y[i]), add)
    elif kind == kTanh:
        for i in range(n):
            _store(dx + i, dy[i] * (one - y[i] * y[i]), add)
    elif kind == kSoftReLU:
        for i in range(n):
            _store(dx + i, -dy[i] * expm1(-y[i]), add)
    else:
        for i in range(n):
            _store(dx + i, dy[i] * (one - fabs(y[i])) * (one - fabs(y[i])), add)


cdef void activation_forward(int kind, const floating* x, floating* y, int64_t n, bint add) noexcept nogil:
    cdef int threads = threads_for(n if kind in (kReLU, kSoftSign) else n * 8)
    cdef int t
    for t in prange(threads, num_threads=threads, schedule="static"):
        _forward(kind, x + n * t // threads, y + n * t // threads,
                 n * (t + 1) // threads - n * t // threads, add)


cdef void activation_backward(int kind, const floating* dy, const floating* y, floating* dx, int64_t n,
                              bint add) noexcept nogil:
    cdef int threads = threads_for(n * 8 if kind == kSoftReLU else n)
    cdef int t
    for t in prange(threads, num_threads=threads, schedule="static"):
        _backward(kind, dy + n * t // threads, y + n * t // threads, dx + n * t // threads,
                  n * (t + 1) // threads - n * t // threads, add)
