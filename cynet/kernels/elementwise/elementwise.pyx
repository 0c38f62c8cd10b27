"""Runs elementwise loops over whole arrays (contract in elementwise.pxd)."""

from libc.stdint cimport int64_t

from ..._typedefs cimport TBlob
from ..isa.dispatch cimport cpu_level
from ..parallel cimport GRAIN, threads_if_awake, threads_for


cdef extern from "elementwise/broadcast.h" namespace "cynet" nogil:
    bint ran_loop_lately() noexcept
    void set_convert_level(int level) noexcept
    void unary_threaded(int threads, const Kernel& k, const void* x, void* out, int64_t n) noexcept
    void binary_threaded(int threads, const Kernel& k, const void* a, int sa, const void* b, int sb,
                         void* out, int64_t n) noexcept
    void grad_threaded(int threads, const Kernel& k, const void* g, int sg, const void* a, int sa,
                       const void* b, int sb, void* out, int64_t n) noexcept
    void merge_axes(Space* space) noexcept
    void binary_broadcast(int threads, const Kernel& k, const Space& s, const void* a,
                          const void* b, void* out) noexcept
    void grad_broadcast(int threads, const Kernel& k, const Space& s, const void* g, const void* a,
                        const void* b, void* out) noexcept
    void cast_array(int threads, int source, int target, const void* src, void* dst,
                    int64_t n) noexcept
    void cast_add_array(int threads, const Kernel& identity, int source, const void* src, void* dst,
                        int64_t n) noexcept


cdef enum:
    MIN_WAKING_ELEMENTS = 1 << 19  # minimum elements for which a sleeping thread is woken


cdef int _thread_count(int64_t n) noexcept nogil:
    """The number of threads for n elements: fewer if helpers sleep; no result depends on it."""
    cdef int threads
    if n < GRAIN or n >= MIN_WAKING_ELEMENTS:
        return threads_for(n)
    threads = threads_if_awake(n)
    return threads_for(n) if threads == 1 and ran_loop_lately() else threads


cdef void run_unary(const Kernel* kernel, const void* x, void* out, int64_t n) noexcept nogil:
    unary_threaded(_thread_count(n), kernel[0], x, out, n)


cdef void run_binary(const Kernel* kernel, const void* a, int sa, const void* b, int sb, void* out,
                     int64_t n) noexcept nogil:
    binary_threaded(_thread_count(n), kernel[0], a, sa, b, sb, out, n)


cdef void run_grad(const Kernel* kernel, const void* g, int sg, const void* a, int sa,
                   const void* b, int sb, void* out, int64_t n) noexcept nogil:
    grad_threaded(_thread_count(n), kernel[0], g, sg, a, sa, b, sb, out, n)


cdef void make_space(Space* space, const TBlob** operands, int n) noexcept nogil:
    cdef int i, k, own, ndim = operands[0].ndim
    cdef int64_t stride
    space.ndim = ndim
    space.operands = n
    for i in range(ndim):
        space.shape[i] = operands[0].shape[i]
    for k in range(n):
        stride = 1
        for i in range(ndim - 1, -1, -1):
            own = i - (ndim - operands[k].ndim)
            if own < 0 or operands[k].shape[own] == 1:
                space.stride[k][i] = 0
            else:
                space.stride[k][i] = stride
                stride *= operands[k].shape[own]
    merge_axes(space)


cdef void broadcast_binary(const Kernel* kernel, const Space* space, const void* a, const void* b,
                           void* out) noexcept nogil:
    binary_broadcast(threads_for(space.size), kernel[0], space[0], a, b, out)


cdef void broadcast_grad(const Kernel* kernel, const Space* space, const void* g, const void* a,
                         const void* b, void* out) noexcept nogil:
    grad_broadcast(threads_for(space.size), kernel[0], space[0], g, a, b, out)


cdef void run_cast(int from_dtype, int to_dtype, const void* src, void* dst,
                   int64_t n) noexcept nogil:
    cast_array(_thread_count(n), from_dtype, to_dtype, src, dst, n)


cdef void run_cast_add(const Kernel* identity, int from_dtype, const void* src, void* dst,
                       int64_t n) noexcept nogil:
    cast_add_array(_thread_count(n), identity[0], from_dtype, src, dst, n)


set_convert_level(cpu_level())
