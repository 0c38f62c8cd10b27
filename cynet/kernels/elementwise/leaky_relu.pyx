"""Rectifiers (contract in leaky_relu.pxd)."""

from cython.parallel cimport prange

from ..table cimport find_binary, find_binary_grad
from .elementwise cimport Kernel, run_binary, run_grad
from ..parallel cimport threads_for

cdef enum:
    WIDTH = 16  # channels that one step of a sum over rows takes together

cdef Kernel _forward[4][2][2]   # by type, double, add: functors of x and the slope
cdef Kernel _backward[4][2][2]


cdef void rectifier_forward(int type, const floating* x, floating* y, int64_t n, double slope,
                            bint add) noexcept nogil:
    cdef floating s = <floating>slope
    run_binary(&_forward[type][floating is double][add], x, 1, &s, 0, y, n)


cdef void rectifier_backward(int type, const floating* dy, const floating* x, floating* dx,
                             int64_t n, double slope, bint add) noexcept nogil:
    cdef floating s = <floating>slope
    run_grad(&_backward[type][floating is double][add], dy, 1, x, 1, &s, 0, dx, n)


cdef _find():
    cdef int type, double_, add
    for type, name in enumerate((b"leaky", b"elu", b"selu", b"gelu")):
        for double_ in range(2):
            for add in range(2):
                _forward[type][double_][add] = find_binary(name, double_, add)
                _backward[type][double_][add] = find_binary_grad(name + b"_grad", double_, add)


cdef void _sloped_row(const floating* g, const floating* x, const floating* slopes, floating* y,
                      int64_t channels, bint add) noexcept nogil:
    """y (+)= g where x > 0, else g by the slope of the channel."""
    cdef int64_t c
    cdef floating slope, one = 1  # read before the choice: only then do compilers vectorise it
    if add:
        for c in range(channels):
            slope = slopes[c]
            y[c] += g[c] * (one if x[c] > 0 else slope)
    else:
        for c in range(channels):
            slope = slopes[c]
            y[c] = g[c] * (one if x[c] > 0 else slope)


cdef void _slopes_columns(const floating* dy, const floating* x, floating* dslopes, int64_t rows,
                          int64_t step, int64_t width, bint add) noexcept nogil:
    """The first `width` of the `step` channels of rows."""
    cdef double totals[WIDTH]
    cdef floating value, zero = 0
    cdef int64_t row, c
    for c in range(width):
        totals[c] = dslopes[c] if add else 0
    for row in range(rows):
        for c in range(width):
            value = dy[row * step + c] * x[row * step + c]
            totals[c] += zero if x[row * step + c] > 0 else value
    for c in range(width):
        dslopes[c] = <floating>totals[c]


cdef void sloped(const floating* g, const floating* x, const floating* slopes, floating* y,
                 int64_t n, int64_t channels, int64_t inner, bint add) noexcept nogil:
    cdef int threads = threads_for(n)
    cdef int64_t line, i
    if inner == 1 and n > channels:
        for line in prange(n // channels, num_threads=threads, schedule="static"):
            i = line * channels
            _sloped_row(g + i, x + i, slopes, y + i, channels, add)
        return
    for line in prange(n // inner, num_threads=threads, schedule="static"):
        for i in range(line * inner, line * inner + inner):
            if add:
                y[i] = y[i] + (g[i] if x[i] > 0 else slopes[line % channels] * g[i])
            else:
                y[i] = g[i] if x[i] > 0 else slopes[line % channels] * g[i]


cdef void slopes_backward(const floating* dy, const floating* x, floating* dslopes, int64_t n,
                          int64_t channels, int64_t inner, bint add) noexcept nogil:
    cdef int threads = threads_for(n)
    cdef int64_t c, start, i, parts = (channels + WIDTH - 1) // WIDTH
    cdef double total
    if inner == 1:
        for i in prange(parts, num_threads=threads, schedule="static"):
            c = i * WIDTH
            _slopes_columns(dy + c, x + c, dslopes + c, n // channels, channels,
                            min(channels - c, <int64_t>WIDTH), add)
        return
    for c in prange(channels, num_threads=threads, schedule="static"):
        total = dslopes[c] if add else 0
        for start in range(n // (channels * inner)):
            for i in range((start * channels + c) * inner, (start * channels + c + 1) * inner):
                total = total + (0 if x[i] > 0 else dy[i] * x[i])
        dslopes[c] = <floating>total


_find()
