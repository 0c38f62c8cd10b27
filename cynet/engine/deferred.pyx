"""Deferred calls: masks of their variables, and limits of threads (contract in deferred.pxd)."""

from libc.stdint cimport uint64_t

from ..base import config

cdef extern from *:
    """
    thread_local int cynet_bulk_limit = -1;
    static inline int cynet_add_and_get(int* p, int more) {
        return __atomic_add_fetch(p, more, __ATOMIC_RELAXED); }
    """
    int thread_limit "cynet_bulk_limit"  # limit of this thread; -1: the default
    int add_to "cynet_add_and_get" (int* p, int more) noexcept nogil

cdef uint64_t deferred_writes_mask = 0  # bits of variables that deferred calls write
cdef uint64_t deferred_mask = 0  # bits of variables that deferred calls read or write
cdef int bulk_threads = 0  # number of threads that defer calls
cdef int _default_limit = config.get("CYNET_BULK")  # maximum number of deferred calls of a thread
if _default_limit > 1:
    bulk_threads = 1


cdef int deferred_call_limit() noexcept nogil:
    return _default_limit if thread_limit < 0 else thread_limit


cdef int set_call_limit(int size) noexcept nogil:
    global thread_limit
    cdef int before = thread_limit
    thread_limit = size
    if (size > 1) != (before > 1):
        add_to(&bulk_threads, 1 if size > 1 else -1)
    return _default_limit if before < 0 else before


cdef int default_call_limit() noexcept nogil:
    return _default_limit
