"""The gradient of cross-entropy at a softmax (contract in softmax_output.pxd)."""

from cython.parallel cimport prange
from libc.stdint cimport int32_t
from libc.string cimport memset

from ..parallel cimport threads_for

cdef enum:
    WIDTH = 256  # lines beside each other that are taken together
    PART = 4096  # elements that one thread takes at a time


cdef inline int64_t _class_of(floating label) noexcept nogil:
    """The label truncated to an integer; -1 for what fits none."""
    if -2147483648.0 < label < 2147483648.0:
        return <int64_t>label
    return -1


cdef inline void _targets(const SoftmaxLoss* loss, floating* hit, floating* miss) noexcept nogil:
    """What the class of the label is to be, and every other one."""
    hit[0] = <floating>(1 - loss.smooth)
    miss[0] = <floating>(loss.smooth / (loss.n - 1)) if loss.n > 1 else 0


cdef void _line(const SoftmaxLoss* loss, const floating* y, int64_t label, const floating* dy,
                floating* dx, floating scale, bint add) noexcept nogil:
    cdef int64_t i, at
    cdef floating value
    cdef floating hit, miss
    cdef bint ignored = loss.use_ignore and label == loss.ignore_label
    _targets(loss, &hit, &miss)
    for i in range(loss.n):
        at = i * loss.inner
        value = 0 if ignored else scale * (y[at] - (hit if i == label else miss))
        if dy != NULL:
            value = value * dy[at]
        if add:
            dx[at] += value
        else:
            dx[at] = value


cdef void _rows(const SoftmaxLoss* loss, const floating* y, const floating* label, floating* dx,
                floating scale, int64_t rows) noexcept nogil:
    """Up to WIDTH lines one behind the other, as if no label hit, and then what the labels hit. dx
    may be y."""
    cdef floating hit, miss
    cdef floating values[WIDTH]
    cdef int64_t places[WIDTH]
    cdef int64_t i, row, marked
    _targets(loss, &hit, &miss)
    for row in range(rows):
        marked = _class_of(label[row])
        places[row] = row * loss.n + marked if 0 <= marked < loss.n else -1
        if places[row] >= 0:
            values[row] = scale * (y[places[row]] - hit)
    if dx == y:  # compilers see that no element is read after another one is written
        for i in range(rows * loss.n):
            dx[i] = scale * (dx[i] - miss)
    else:
        for i in range(rows * loss.n):
            dx[i] = scale * (y[i] - miss)
    for row in range(rows):
        if places[row] >= 0:
            dx[places[row]] = values[row]
        if loss.use_ignore and _class_of(label[row]) == loss.ignore_label:
            memset(dx + row * loss.n, 0, loss.n * sizeof(floating))


cdef void _lines(const SoftmaxLoss* loss, const floating* y, const floating* label,
                 const floating* dy, floating* dx, floating scale, int64_t width,
                 bint add) noexcept nogil:
    """`width` lines beside each other, by class: what lies together in memory at a time."""
    cdef floating hit, miss
    cdef floating value[WIDTH]
    cdef int32_t marked[WIDTH]
    cdef int64_t i, j, at
    _targets(loss, &hit, &miss)
    for j in range(width):
        marked[j] = <int32_t>_class_of(label[j])
    for i in range(loss.n):
        at = i * loss.inner
        for j in range(width):
            value[j] = scale * (y[at + j] - (hit if marked[j] == <int32_t>i else miss))
        if dy != NULL:
            for j in range(width):
                value[j] = value[j] * dy[at + j]
        if loss.use_ignore:  # zero, whatever y and dy are
            for j in range(width):
                if marked[j] == loss.ignore_label:
                    value[j] = 0
        if add:
            for j in range(width):
                dx[at + j] += value[j]
        else:
            for j in range(width):
                dx[at + j] = value[j]


cdef void softmax_loss_gradient(const SoftmaxLoss* loss, const floating* y, const floating* label,
                                const floating* dy, floating* dx, bint add) noexcept nogil:
    cdef int64_t line, start, valid = loss.labels, lines = loss.outer * loss.inner
    cdef int64_t rows, part, first, parts = (loss.inner + WIDTH - 1) // WIDTH
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
    if loss.inner > 1 and loss.n <= 0x7fffffff:
        for part in prange(loss.outer * parts, num_threads=threads, schedule="static"):
            first = part % parts * WIDTH
            start = part // parts * loss.n * loss.inner + first
            _lines(loss, y + start, label + part // parts * loss.inner + first,
                   dy + start if dy != NULL else dy, dx + start, scale,
                   min(loss.inner - first, <int64_t>WIDTH), add)
        return
    if loss.inner == 1 and dy == NULL and not add:
        rows = max(1, min(<int64_t>WIDTH, PART // max(loss.n, 1)))
        for part in prange((lines + rows - 1) // rows, num_threads=threads, schedule="static"):
            _rows(loss, y + part * rows * loss.n, label + part * rows, dx + part * rows * loss.n,
                  scale, min(lines - part * rows, rows))
        return
    for line in prange(lines, num_threads=threads, schedule="static"):
        start = line // loss.inner * loss.n * loss.inner + line % loss.inner
        _line(loss, y + start, _class_of(label[line]), dy + start if dy != NULL else dy,
              dx + start, scale, add)


cdef void _difference(const floating* y, const floating* label, const floating* dy,
                      floating scale, floating* dx, int64_t n, bint add) noexcept nogil:
    cdef int64_t i
    cdef floating value
    if dy != NULL:
        for i in range(n):
            value = scale * (y[i] - label[i]) * dy[i]
            dx[i] = dx[i] + value if add else value
    elif add:
        for i in range(n):
            dx[i] += scale * (y[i] - label[i])
    else:
        for i in range(n):
            dx[i] = scale * (y[i] - label[i])


cdef void scaled_difference(const floating* y, const floating* label, const floating* dy,
                            double scale, floating* dx, int64_t size, bint add) noexcept nogil:
    cdef int64_t part, at, parts = (size + PART - 1) // PART
    for part in prange(parts, num_threads=threads_for(size), schedule="static"):
        at = part * PART
        _difference(y + at, label + at, dy + at if dy != NULL else dy, <floating>scale, dx + at,
                    min(size - at, <int64_t>PART), add)
