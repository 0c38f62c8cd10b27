"""Calls that are noted and not pushed yet: their masks, and who notes (contract in the .pxd)."""

from libc.stdint cimport uint64_t

from ..base import config

cdef extern from *:
    """
    thread_local int cynet_bulk_limit = -1;
    static inline int cynet_add_and_get(int* p, int more) {
        return __atomic_add_fetch(p, more, __ATOMIC_RELAXED); }
    """
    int own_limit "cynet_bulk_limit"  # limit of this thread; -1: the default
    int add_to "cynet_add_and_get" (int* p, int more) noexcept nogil

cdef uint64_t noted_writes_mask = 0
cdef uint64_t noted_mask = 0
cdef int bulking = 0
cdef int _default = config.get("CYNET_BULK")
if _default > 1:
    bulking = 1


cdef int deferred_call_limit() noexcept nogil:
    return _default if own_limit < 0 else own_limit


cdef int set_limit(int size) noexcept nogil:
    global own_limit
    cdef int before = own_limit
    own_limit = size
    if (size > 1) != (before > 1):
        add_to(&bulking, 1 if size > 1 else -1)
    return _default if before < 0 else before


cdef int default_limit() noexcept nogil:
    return _default
