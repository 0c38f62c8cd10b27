"""Rectifiers (contract in leaky_relu.pxd)."""

from cython.parallel cimport prange

from .parallel cimport threads_for

cdef extern from "<cmath>" namespace "std" nogil:
    float expm1(float) noexcept
    double expm1(double) noexcept
    float erf(float) noexcept
    double erf(double) noexcept

cdef extern from "scalar_math.h" namespace "cynet::math" nogil:
    float exp(float) noexcept
    double exp(double) noexcept

cdef double SELU_SCALE = 1.0507009873554804934
cdef double SELU_SLOPE = 1.6732632423543772848 * 1.0507009873554804934
cdef double ROOT_HALF = 0.70710678118654752440
cdef double NORMAL = 0.39894228040143267794  # 1 / sqrt(2 pi)


cdef inline floating _value(int type, floating x, floating slope) noexcept nogil:
    if type == kLeaky:
        return x if x > 0 else slope * x
    if type == kELU:
        return x if x > 0 else slope * expm1(x)
    if type == kSELU:
        return <floating>SELU_SCALE * x if x > 0 else <floating>SELU_SLOPE * expm1(x)
    return <floating>0.5 * x * (1 + erf(<floating>(x * ROOT_HALF)))


cdef inline floating _slope(int type, floating x, floating slope) noexcept nogil:
    if type == kLeaky:
        return 1 if x > 0 else slope
    if type == kELU:
        return 1 if x > 0 else slope * exp(x)
    if type == kSELU:
        return <floating>SELU_SCALE if x > 0 else <floating>SELU_SLOPE * exp(x)
    return <floating>(0.5 * (1 + erf(<floating>(x * ROOT_HALF)))
                      + x * NORMAL * exp(<floating>(-0.5) * x * x))


cdef void rectifier_forward(int type, const floating* x, floating* y, int64_t n, double slope,
                            bint add) noexcept nogil:
    cdef int threads = threads_for(n if type == kLeaky else n * 8)
    cdef floating s = <floating>slope
    cdef int64_t i
    for i in prange(n, num_threads=threads, schedule="static"):
        if add:
            y[i] = y[i] + _value(type, x[i], s)
        else:
            y[i] = _value(type, x[i], s)


cdef void rectifier_backward(int type, const floating* dy, const floating* x, floating* dx,
                             int64_t n, double slope, bint add) noexcept nogil:
    cdef int threads = threads_for(n if type == kLeaky else n * 8)
    cdef floating s = <floating>slope
    cdef int64_t i
    for i in prange(n, num_threads=threads, schedule="static"):
        if add:
            dx[i] = dx[i] + dy[i] * _slope(type, x[i], s)
        else:
            dx[i] = dy[i] * _slope(type, x[i], s)


cdef void sloped_forward(const floating* x, const floating* slopes, floating* y, int64_t n,
                         int64_t channels, int64_t inner, bint add) noexcept nogil:
    cdef int threads = threads_for(n)
    cdef int64_t line, i
    for line in prange(n // inner, num_threads=threads, schedule="static"):
        for i in range(line * inner, line * inner + inner):
            if add:
                y[i] = y[i] + (x[i] if x[i] > 0 else slopes[line % channels] * x[i])
            else:
                y[i] = x[i] if x[i] > 0 else slopes[line % channels] * x[i]


cdef void sloped_backward(const floating* dy, const floating* x, const floating* slopes,
                          floating* dx,
                          int64_t n, int64_t channels, int64_t inner, bint add) noexcept nogil:
    cdef int threads = threads_for(n)
    cdef int64_t line, i
    for line in prange(n // inner, num_threads=threads, schedule="static"):
        for i in range(line * inner, line * inner + inner):
            if add:
                dx[i] = dx[i] + (dy[i] if x[i] > 0 else slopes[line % channels] * dy[i])
            else:
                dx[i] = dy[i] if x[i] > 0 else slopes[line % channels] * dy[i]


cdef void slopes_backward(const floating* dy, const floating* x, floating* dslopes, int64_t n,
                          int64_t channels, int64_t inner, bint add) noexcept nogil:
    cdef int threads = threads_for(n)
    cdef int64_t c, start, i
    cdef double total
    for c in prange(channels, num_threads=threads, schedule="static"):
        total = dslopes[c] if add else 0
        for start in range(n // (channels * inner)):
            for i in range((start * channels + c) * inner, (start * channels + c + 1) * inner):
                total = total + (0 if x[i] > 0 else dy[i] * x[i])
        dslopes[c] = <floating>total
