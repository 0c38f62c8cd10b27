"""Normalization along lines (contract in normalization.pxd)."""

from cython.parallel cimport prange
from libc.math cimport sqrt

from .parallel cimport threads_for
from .sums cimport dot_line, normalize_line, sum_line

cdef enum:
    WIDTH = 64  # positions that one step of a sum over lines takes together
    LANES = 8   # partial sums along a line


cdef inline void _put(floating* out, double value, bint add) noexcept nogil:
    out[0] = <floating>(out[0] + value if add else value)


cdef inline double _total(const floating* x, int64_t n, int64_t step, double center,
                          bint squared) noexcept nogil:
    """sum_line of numbers that are `step` apart."""
    cdef double total = 0, value
    cdef int64_t i
    if step == 1:
        return sum_line(x, n, center, squared)
    for i in range(n):
        value = x[i * step] - center
        total += value * value if squared else value
    return total


cdef void _layer_line(const floating* x, const floating* gamma, const floating* beta, floating* y,
                      floating* mean_out, floating* std_out, int64_t n, int64_t step, double eps,
                      bint add, bint add_mean, bint add_std) noexcept nogil:
    cdef double mean, std
    cdef floating center, scale
    cdef int64_t i
    if step == 1 and y != NULL:
        normalize_line(x, gamma, beta, y, n, eps, add, &mean, &std)
    else:
        mean = _total(x, n, step, 0, False) / n
        std = sqrt(_total(x, n, step, mean, True) / n + eps)
    if mean_out != NULL:
        _put(mean_out, mean, add_mean)
    if std_out != NULL:
        _put(std_out, std, add_std)
    if y == NULL or step == 1:
        return
    center, scale = <floating>mean, <floating>(1 / std)
    for i in range(n):
        if add:
            y[i * step] += (x[i * step] - center) * scale * gamma[i] + beta[i]
        else:
            y[i * step] = (x[i * step] - center) * scale * gamma[i] + beta[i]


cdef void layer_norm_forward(const floating* x, const floating* gamma, const floating* beta,
                             floating* y,
                             floating* mean, floating* std, int64_t outer, int64_t n, int64_t inner,
                             double eps, bint add, bint add_mean, bint add_std) noexcept nogil:
    cdef int threads = threads_for(outer * n * inner * 3)
    cdef int64_t line, start
    for line in prange(outer * inner, num_threads=threads, schedule="static"):
        start = line // inner * n * inner + line % inner
        _layer_line(x + start, gamma, beta, y + start if y != NULL else y,
                    mean + line if mean != NULL else mean, std + line if std != NULL else std, n,
                    inner, eps, add, add_mean, add_std)


cdef void _layer_line_backward(const floating* dy, const floating* x, const floating* gamma,
                               floating mean, floating std, floating* dx, int64_t n, int64_t step,
                               bint add) noexcept nogil:
    cdef double total = 0, product = 0
    cdef double totals[LANES]
    cdef double products[LANES]
    cdef floating a, b, value, scale = 1 / std
    cdef int64_t i, k, part, parts = n // LANES if step == 1 else 0
    for k in range(LANES):
        totals[k] = products[k] = 0
    for part in range(parts):
        i = part * LANES
        for k in range(LANES):
            value = dy[i + k] * gamma[i + k]
            totals[k] += value
            products[k] += value * (x[i + k] - mean) * scale
    for k in range(LANES):
        total += totals[k]
        product += products[k]
    for i in range(parts * LANES, n):
        value = dy[i * step] * gamma[i]
        total += value
        product += value * (x[i * step] - mean) * scale
    a = <floating>(total / n)
    b = <floating>(product / n)
    for i in range(n):
        value = scale * (dy[i * step] * gamma[i] - a - b * (x[i * step] - mean) * scale)
        if add:
            dx[i * step] += value
        else:
            dx[i * step] = value


cdef void layer_norm_backward(const floating* dy, const floating* x, const floating* gamma,
                              const floating* mean, const floating* std, floating* dx,
                              int64_t outer, int64_t n, int64_t inner, bint add) noexcept nogil:
    cdef int threads = threads_for(outer * n * inner * 3)
    cdef int64_t line, start
    for line in prange(outer * inner, num_threads=threads, schedule="static"):
        start = line // inner * n * inner + line % inner
        _layer_line_backward(dy + start, x + start, gamma, mean[line], std[line], dx + start, n,
                             inner, add)


cdef void _scale_columns(const floating* dy, const floating* x, const floating* mean,
                         const floating* std, floating* dgamma, floating* dbeta, int64_t lines,
                         int64_t n, int64_t width, bint add_gamma, bint add_beta) noexcept nogil:
    """The first `width` of n neighbouring positions of a line."""
    cdef double products[WIDTH]
    cdef double totals[WIDTH]
    cdef floating center, scale
    cdef int64_t line, i
    for i in range(width):
        products[i] = totals[i] = 0
    for line in range(lines):
        center, scale = mean[line], 1 / std[line]
        for i in range(width):
            products[i] += dy[line * n + i] * (x[line * n + i] - center) * scale
            totals[i] += dy[line * n + i]
    for i in range(width):
        if dgamma != NULL:
            _put(dgamma + i, products[i], add_gamma)
        if dbeta != NULL:
            _put(dbeta + i, totals[i], add_beta)


cdef void layer_norm_backward_scale(const floating* dy, const floating* x, const floating* mean,
                                    const floating* std, floating* dgamma, floating* dbeta,
                                    int64_t outer, int64_t n, int64_t inner, bint add_gamma,
                                    bint add_beta) noexcept nogil:
    cdef int threads = threads_for(outer * n * inner * 3)
    cdef int64_t i, line, at, parts = (n + WIDTH - 1) // WIDTH
    cdef double product, total
    if inner == 1:
        for i in prange(parts, num_threads=threads, schedule="static"):
            at = i * WIDTH
            _scale_columns(dy + at, x + at, mean, std, dgamma + at if dgamma != NULL else dgamma,
                           dbeta + at if dbeta != NULL else dbeta, outer, n,
                           min(n - at, <int64_t>WIDTH), add_gamma, add_beta)
        return
    for i in prange(n, num_threads=threads, schedule="static"):
        product = 0
        total = 0
        for line in range(outer * inner):
            at = (line // inner * n + i) * inner + line % inner
            product = product + dy[at] * (x[at] - mean[line]) / std[line]
            total = total + dy[at]
        if dgamma != NULL:
            _put(dgamma + i, product, add_gamma)
        if dbeta != NULL:
            _put(dbeta + i, total, add_beta)


cdef void _l2_line(const floating* x, floating* y, int64_t n, double eps,
                   bint add) noexcept nogil:
    cdef floating scale = <floating>(1 / sqrt(_total(x, n, 1, 0, True) + eps))
    cdef int64_t i
    if add:
        for i in range(n):
            y[i] += x[i] * scale
    else:
        for i in range(n):
            y[i] = x[i] * scale


cdef void _l2_lines(const floating* x, floating* y, int64_t n, int64_t step, int64_t width,
                    double eps, bint add) noexcept nogil:
    """`width` lines beside each other, the elements of each `step` apart."""
    cdef double total[WIDTH]
    cdef floating scale[WIDTH]
    cdef int64_t i, k
    for i in range(width):
        total[i] = 0
    for k in range(n):
        for i in range(width):
            total[i] += <double>x[k * step + i] * x[k * step + i]
    for i in range(width):
        scale[i] = <floating>(1 / sqrt(total[i] + eps))
    for k in range(n):
        if add:
            for i in range(width):
                y[k * step + i] += x[k * step + i] * scale[i]
        else:
            for i in range(width):
                y[k * step + i] = x[k * step + i] * scale[i]


cdef void l2_norm_forward(const floating* x, floating* y, int64_t outer, int64_t n, int64_t inner,
                          double eps, bint add) noexcept nogil:
    cdef int threads = threads_for(outer * n * inner * 2)
    cdef int64_t line, at, part, parts = (inner + WIDTH - 1) // WIDTH
    if inner == 1:
        for line in prange(outer, num_threads=threads, schedule="static"):
            _l2_line(x + line * n, y + line * n, n, eps, add)
        return
    for part in prange(outer * parts, num_threads=threads, schedule="static"):
        at = part // parts * n * inner + part % parts * WIDTH
        _l2_lines(x + at, y + at, n, inner, min(inner - part % parts * WIDTH, <int64_t>WIDTH), eps,
                  add)


cdef void _l2_line_backward(const floating* dy, const floating* x, floating* dx, int64_t n,
                            double eps, bint add) noexcept nogil:
    cdef double scale = 1 / sqrt(_total(x, n, 1, 0, True) + eps)
    cdef floating a = <floating>scale
    cdef floating b = <floating>(scale * scale * scale * dot_line(dy, x, n, 0))
    cdef int64_t i
    if add:
        for i in range(n):
            dx[i] += a * dy[i] - b * x[i]
    else:
        for i in range(n):
            dx[i] = a * dy[i] - b * x[i]


cdef void _l2_lines_backward(const floating* dy, const floating* x, floating* dx, int64_t n,
                             int64_t step, int64_t width, double eps, bint add) noexcept nogil:
    """`width` lines beside each other, the elements of each `step` apart."""
    cdef double total[WIDTH]
    cdef double product[WIDTH]
    cdef floating a[WIDTH]
    cdef floating b[WIDTH]
    cdef double scale
    cdef int64_t i, k, at
    for i in range(width):
        total[i] = product[i] = 0
    for k in range(n):
        for i in range(width):
            at = k * step + i
            total[i] += <double>x[at] * x[at]
            product[i] += <double>dy[at] * x[at]
    for i in range(width):
        scale = 1 / sqrt(total[i] + eps)
        a[i] = <floating>scale
        b[i] = <floating>(scale * scale * scale * product[i])
    for k in range(n):
        if add:
            for i in range(width):
                dx[k * step + i] += a[i] * dy[k * step + i] - b[i] * x[k * step + i]
        else:
            for i in range(width):
                dx[k * step + i] = a[i] * dy[k * step + i] - b[i] * x[k * step + i]


cdef void l2_norm_backward(const floating* dy, const floating* x, floating* dx, int64_t outer,
                           int64_t n, int64_t inner, double eps, bint add) noexcept nogil:
    cdef int threads = threads_for(outer * n * inner * 3)
    cdef int64_t line, at, part, parts = (inner + WIDTH - 1) // WIDTH
    if inner == 1:
        for line in prange(outer, num_threads=threads, schedule="static"):
            _l2_line_backward(dy + line * n, x + line * n, dx + line * n, n, eps, add)
        return
    for part in prange(outer * parts, num_threads=threads, schedule="static"):
        at = part // parts * n * inner + part % parts * WIDTH
        _l2_lines_backward(dy + at, x + at, dx + at, n, inner,
                           min(inner - part % parts * WIDTH, <int64_t>WIDTH), eps, add)
