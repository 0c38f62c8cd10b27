"""Normalization of channels (contract in batch_norm.pxd): channels are spread over threads."""

from cython.parallel cimport prange
from libc.math cimport sqrt

from ..parallel cimport threads_for
from ..reduce.line_reduce cimport dot_line, sum_line

cdef inline void _put(floating* out, int64_t c, double value, bint add) noexcept nogil:
    if out != NULL:
        out[c] = <floating>(out[c] + value if add else value)


cdef void _channel_forward(const Channels* s, int64_t c, const floating* x, double gamma,
                           double beta,
                           const floating* given_mean, const floating* given_var,
                           floating* mean_out,
                           floating* std_out, floating* y, bint add, bint add_mean,
                           bint add_std) noexcept nogil:
    cdef int64_t n, i, count = s.outer * s.inner, step = s.channels * s.inner
    cdef double mean = 0, variance = 0, inv_std
    cdef floating scale, shift
    cdef const floating* line
    cdef floating* out
    x += c * s.inner
    if given_mean != NULL:
        mean, variance = given_mean[c], given_var[c]
    else:
        for n in range(s.outer):
            mean += sum_line(x + n * step, s.inner, 0, False)
        mean /= count
        for n in range(s.outer):
            variance += sum_line(x + n * step, s.inner, mean, True)
        variance /= count
    inv_std = 1 / sqrt(variance + s.eps)
    _put(mean_out, c, mean, add_mean)
    _put(std_out, c, inv_std, add_std)
    if y == NULL:
        return
    scale = <floating>(gamma * inv_std)
    shift = <floating>(beta - mean * gamma * inv_std)
    for n in range(s.outer):
        line = x + n * step
        out = y + c * s.inner + n * step
        if add:
            for i in range(s.inner):
                out[i] += line[i] * scale + shift
        else:
            for i in range(s.inner):
                out[i] = line[i] * scale + shift


cdef void batch_norm_forward(const Channels* shape, const floating* x, const floating* gamma,
                             const floating* beta, const floating* given_mean,
                             const floating* given_var, floating* mean, floating* inv_std,
                             floating* y, bint add, bint add_mean, bint add_std) noexcept nogil:
    cdef int64_t c
    cdef int threads = threads_for(shape.outer * shape.channels * shape.inner * 2)
    for c in prange(shape.channels, num_threads=threads, schedule="static"):
        _channel_forward(shape, c, x, <double>1 if shape.fixed else <double>gamma[c],
                         <double>beta[c],
                         given_mean, given_var, mean, inv_std, y, add, add_mean, add_std)


cdef void _channel_backward(const Channels* s, int64_t c, const floating* dy, const floating* x,
                            double gamma, double mean, double inv_std, bint constant, floating* dx,
                            floating* dgamma, floating* dbeta, bint add_x, bint add_gamma,
                            bint add_beta) noexcept nogil:
    cdef int64_t n, i, count = s.outer * s.inner, step = s.channels * s.inner
    cdef double total = 0, product = 0
    cdef floating a, b, d
    cdef const floating* g
    cdef const floating* line
    cdef floating* out
    dy += c * s.inner
    x += c * s.inner
    for n in range(s.outer):
        total += sum_line(dy + n * step, s.inner, 0, False)
        product += dot_line(dy + n * step, x + n * step, s.inner, mean)
    _put(dbeta, c, total, add_beta)
    _put(dgamma, c, 0 if s.fixed else product * inv_std, add_gamma)
    if dx == NULL:
        return
    # dx = a * dy + b * x + d
    a = <floating>(gamma * inv_std)
    b = <floating>(0 if constant else -gamma * inv_std * inv_std * inv_std * product / count)
    d = <floating>(0 if constant else -gamma * inv_std * total / count - b * mean)
    for n in range(s.outer):
        g = dy + n * step
        line = x + n * step
        out = dx + c * s.inner + n * step
        if add_x:
            for i in range(s.inner):
                out[i] += a * g[i] + b * line[i] + d
        else:
            for i in range(s.inner):
                out[i] = a * g[i] + b * line[i] + d


cdef void batch_norm_backward(const Channels* shape, const floating* dy, const floating* x,
                              const floating* gamma, const floating* mean, const floating* inv_std,
                              bint constant, floating* dx, floating* dgamma, floating* dbeta,
                              bint add_x, bint add_gamma, bint add_beta) noexcept nogil:
    cdef int64_t c
    cdef int threads = threads_for(shape.outer * shape.channels * shape.inner * 3)
    for c in prange(shape.channels, num_threads=threads, schedule="static"):
        _channel_backward(shape, c, dy, x, <double>1 if shape.fixed else <double>gamma[c],
                          <double>mean[c], <double>inv_std[c], constant, dx, dgamma, dbeta, add_x,
                          add_gamma, add_beta)
