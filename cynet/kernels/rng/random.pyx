"""Random numbers on the CPU (contract in random.pxd): the choice of level, type and threads."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from ..._typedefs cimport kBfloat16, kFloat16, kFloat32, kFloat64, kInt32, kInt64
from ..isa.dispatch cimport cpu_level
from ..parallel cimport threads_for

cdef extern from "common/bfloat16.h" namespace "cynet" nogil:
    cppclass half:
        pass
    cppclass bfloat16:
        pass

cdef extern from "rng/random_fill.h" namespace "cynet" nogil:
    void fill_as "cynet::fill" [T, C](
        int level, const Draw& d, T* out, int64_t n, bint add, int threads) noexcept
    void integers_as "cynet::fill_integers" [T](
        int level, uint64_t seed, uint64_t stream, int64_t low, uint64_t range, T* out, int64_t n,
        bint add, int threads) noexcept

cdef enum:
    COST = 8    # simple operations one uniform or normal is worth
    REJECT = 64  # those of one gamma or Poisson number


cdef int fill(const Draw* draw, void* out, int dtype, int64_t n, bint add) noexcept nogil:
    cdef int level = cpu_level()
    cdef int threads = threads_for(n * (COST if draw.distribution <= kExponential else REJECT))
    if dtype == kFloat32:
        fill_as[float, float](level, draw[0], <float*>out, n, add, threads)
    elif dtype == kFloat64:
        fill_as[double, double](level, draw[0], <double*>out, n, add, threads)
    elif dtype == kFloat16:
        fill_as[half, float](level, draw[0], <half*>out, n, add, threads)
    elif dtype == kBfloat16:
        fill_as[bfloat16, float](level, draw[0], <bfloat16*>out, n, add, threads)
    else:
        return -1
    return 0


cdef int fill_integers(uint64_t seed, uint64_t stream, int64_t low, uint64_t range, void* out,
                       int dtype, int64_t n, bint add) noexcept nogil:
    cdef int level = cpu_level()
    cdef int threads = threads_for(n * COST)
    if dtype == kInt32:
        integers_as[int32_t](level, seed, stream, low, range, <int32_t*>out, n, add, threads)
    elif dtype == kInt64:
        integers_as[int64_t](level, seed, stream, low, range, <int64_t*>out, n, add, threads)
    else:
        return -1
    return 0


def philox_block(seed, stream, number):
    """The four 32-bit words of one block, for tests against published answers.

    >>> [hex(word) for word in philox_block(0, 0, 0)]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    cdef uint32_t words[4]
    cdef Philox* key = new Philox(<uint64_t>seed, <uint64_t>stream)
    key.block(<uint64_t>number, words)
    del key
    return [words[i] for i in range(4)]
