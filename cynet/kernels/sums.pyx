"""Sums of lines (contract in sums.pxd).

Sixteen running sums side by side let the loops vectorise; after a block they are added in double.
"""

cdef enum:
    LANES = 16
    BLOCK = 1024


cdef inline double _fold(const floating* part) noexcept nogil:
    cdef double total = 0
    cdef int j
    for j in range(LANES):
        total += part[j]
    return total


cdef double sum_line(const floating* x, int64_t n, double center, bint squared) noexcept nogil:
    cdef floating part[LANES]
    cdef floating c = <floating>center
    cdef double total = 0
    cdef int64_t size, i, j
    while n > 0:
        size = min(n, <int64_t>BLOCK)
        for j in range(LANES):
            part[j] = 0
        if squared:
            for i in range(size // LANES):
                for j in range(LANES):
                    part[j] += (x[i * LANES + j] - c) * (x[i * LANES + j] - c)
        else:
            for i in range(size // LANES):
                for j in range(LANES):
                    part[j] += x[i * LANES + j] - c
        for i in range(size - size % LANES, size):
            part[0] += (x[i] - c) * (x[i] - c) if squared else x[i] - c
        total += _fold(part)
        x += size
        n -= size
    return total


cdef double dot_line(const floating* g, const floating* x, int64_t n, double center) noexcept nogil:
    cdef floating part[LANES]
    cdef floating c = <floating>center
    cdef double total = 0
    cdef int64_t size, i, j
    while n > 0:
        size = min(n, <int64_t>BLOCK)
        for j in range(LANES):
            part[j] = 0
        for i in range(size // LANES):
            for j in range(LANES):
                part[j] += g[i * LANES + j] * (x[i * LANES + j] - c)
        for i in range(size - size % LANES, size):
            part[0] += g[i] * (x[i] - c)
        total += _fold(part)
        g += size
        x += size
        n -= size
    return total
