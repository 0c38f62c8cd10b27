"""The gradient of cross-entropy at a softmax (contract in softmax_output.pxd)."""

from cython.parallel cimport prange

from .parallel cimport threads_for


cdef inline int64_t _class_of(floating label) noexcept nogil:
    """The label truncated to an integer; -1 for what fits none."""
    if -2147483648.0 < label < 2147483648.0:
        return <int64_t>label
    return -1


cdef void _line(const SoftmaxLoss* loss, const floating* y, int64_t label, const floating* dy,
                floating* dx, floating scale, bint add) noexcept nogil:
    cdef int64_t i, at
    cdef floating value
    cdef floating hit = <floating>(1 - loss.smooth)
    cdef floating miss = <floating>(loss.smooth / (loss.n - 1)) if loss.n > 1 else 0
    cdef bint ignored = loss.use_ignore and label == loss.ignore_label
    for i in range(loss.n):
        at = i * loss.inner
        value = 0 if ignored else scale * (y[at] - (hit if i == label else miss))
        if dy != NULL:
            value = value * dy[at]
        if add:
            dx[at] += value
        else:
            dx[at] = value


cdef void softmax_loss_gradient(const SoftmaxLoss* loss, const floating* y, const floating* label,
                                const floating* dy, floating* dx, bint add) noexcept nogil:
    cdef int64_t line, start, valid = loss.labels, lines = loss.outer * loss.inner
    cdef floating scale
    cdef int threads = threads_for(lines * loss.n * 2)
    if loss.normalization == 2:
        for line in range(loss.labels):
            if _class_of(label[line]) == loss.ignore_label:
                valid -= 1
        if valid < 1:
            valid = 1
    elif loss.normalization == 0:
        valid = loss.inner
    scale = <floating>(loss.scale / valid)
    for line in prange(lines, num_threads=threads, schedule="static"):
        start = line // loss.inner * loss.n * loss.inner + line % loss.inner
        _line(loss, y + start, _class_of(label[line]), dy + start if dy != NULL else dy,
              dx + start, scale, add)


cdef void softmax_difference(const floating* y, const floating* label, const floating* dy,
                             double scale, floating* dx, int64_t size, bint add) noexcept nogil:
    cdef int64_t i
    cdef floating value, factor = <floating>scale
    for i in range(size):
        value = factor * (y[i] - label[i])
        if dy != NULL:
            value = value * dy[i]
        if add:
            dx[i] += value
        else:
            dx[i] = value
