"""Deferred calls: elementwise calls that are recorded but not pushed to the engine yet.

`mx.engine.bulk` defers elementwise calls (ndarray/bulk/note.pyx) and pushes them later as one
function. The engine has no record of deferred calls. So code that reads a variable's state calls
`flush_before` first, which pushes the deferred calls of this variable.

Promises:
- Without deferred calls `flush_before` is one load and one comparison.
- The GIL guards the deferred calls; the masks are read without it. A thread that got an array from
another thread sees the bits of that thread's deferred calls until they are pushed.
"""

from libc.stdint cimport uint64_t

cdef extern from *:
    """
    #include <cstdint>
    static inline uint64_t cynet_mask(const uint64_t* p) {
        return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
    static inline void cynet_set_mask(uint64_t* p, uint64_t mask) {
        __atomic_store_n(p, mask, __ATOMIC_RELEASE); }
    static inline uint64_t cynet_variable_bit(const void* var) {  // variables are 64 bytes apart
        return uint64_t(1) << ((reinterpret_cast<uintptr_t>(var) / 64) & 63); }
    """
    uint64_t load_mask "cynet_mask" (const uint64_t* p) noexcept nogil
    void store_mask "cynet_set_mask" (uint64_t* p, uint64_t mask) noexcept nogil
    uint64_t variable_bit "cynet_variable_bit" (const void* var) noexcept nogil

# Masks of the variables that deferred calls write, and of those that they read or write.
cdef uint64_t deferred_writes_mask
cdef uint64_t deferred_mask
cdef int bulk_threads  # threads that defer calls; all that use the default count as one
# Push the deferred calls if one writes `var` (with `reads`: or reads it); NULL: push them always.
cdef int (*flush_deferred)(void* var, bint reads) except -1 nogil
# Return the number of writes that deferred calls make to a variable: 0, or 1, as they run as one
# function. The caller holds the GIL.
cdef int (*count_deferred)(void* var) except -1
# Release a reference to a Chunk (_ndarray.pyx).
cdef void (*release_chunk)(void* chunk) noexcept

# The maximum number of deferred calls of this thread; below 2: none. `set_call_limit` gives the old
# number.
cdef int deferred_call_limit() noexcept nogil
cdef int set_call_limit(int size) noexcept nogil
cdef int default_call_limit() noexcept nogil

cdef inline bint may_be_deferred(const void* var, bint reads) noexcept nogil:
    return load_mask(&deferred_mask if reads else &deferred_writes_mask) & variable_bit(var) != 0

# Push deferred calls that must run before `var` is read or, with `writes`, written.
cdef inline int flush_before(void* var, bint writes) except -1 nogil:  # an access of `var`
    if may_be_deferred(var, writes):
        return flush_deferred(var, writes)
    return 0

cdef inline int flush_all_deferred() except -1 nogil:
    return 0 if load_mask(&deferred_mask) == 0 else flush_deferred(NULL, True)
