"""Normalization along lines (contract in line_norm.pxd)."""

from cython.parallel cimport prange
from libc.math cimport sqrt

from ..parallel cimport parallel_ranges, threads_for
from ..reduce.line_reduce cimport (
    normalize_line, normalize_line_gradient, sum_line, sum_scale_gradients
)

cdef enum:
    UNIT = 16       # columns that threads share out sums over lines by
    TOGETHER = 256  # columns that a thread sums in one call


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
    cdef floating a, b, value, scale = 1 / std
    cdef int64_t i
    if step == 1:
        normalize_line_gradient(dy, x, gamma, mean, std, dx, n, add)
        return
    for i in range(n):
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


cdef struct Scale:
    const void* dy
    const void* x
    const void* mean
    const void* std
    void* dgamma
    void* dbeta
    int64_t lines, n
    bint add_gamma, add_beta, wide  # wide: float64


cdef void _scale_units(void* arg, int64_t begin, int64_t end) noexcept nogil:
    cdef Scale* all = <Scale*>arg
    if all.wide:
        _scale_columns(<const double*>all.dy, all, begin * UNIT, min(end * UNIT, all.n))
    else:
        _scale_columns(<const float*>all.dy, all, begin * UNIT, min(end * UNIT, all.n))


cdef void _scale_columns(const floating* dy, const Scale* all, int64_t begin,
                         int64_t end) noexcept nogil:
    cdef double products[TOGETHER]
    cdef double totals[TOGETHER]
    cdef int64_t at = begin, width, i
    while at < end:
        width = min(end - at, <int64_t>TOGETHER)
        sum_scale_gradients(dy + at, <const floating*>all.x + at, <const floating*>all.mean,
                            <const floating*>all.std, all.lines, all.n, width, products, totals)
        for i in range(width):
            if all.dgamma != NULL:
                _put(<floating*>all.dgamma + at + i, products[i], all.add_gamma)
            if all.dbeta != NULL:
                _put(<floating*>all.dbeta + at + i, totals[i], all.add_beta)
        at += width


cdef void layer_norm_backward_scale(const floating* dy, const floating* x, const floating* mean,
                                    const floating* std, floating* dgamma, floating* dbeta,
                                    int64_t outer, int64_t n, int64_t inner, bint add_gamma,
                                    bint add_beta) noexcept nogil:
    cdef int threads = threads_for(outer * n * inner * 3)
    cdef int64_t i, line, at
    cdef double product, total
    cdef Scale all
    if inner == 1:
        all.dy, all.x, all.mean, all.std, all.dgamma, all.dbeta = dy, x, mean, std, dgamma, dbeta
        all.lines, all.n, all.wide = outer, n, floating is double
        all.add_gamma, all.add_beta = add_gamma, add_beta
        parallel_ranges(threads, (n + UNIT - 1) // UNIT, _scale_units, &all)
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
