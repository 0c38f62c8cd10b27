"""Calls that are noted and not pushed yet, as the engine sees them.

`mx.engine.bulk` notes elementwise calls (ndarray/bulk/note.pyx) and pushes them later as one
function. Until then the engine does not know of them. So whatever looks at a variable asks here
first, and what is noted of it is pushed before it is looked at.

Promises:
- Where nothing is noted a look is one load and one comparison.
- What is noted is guarded by the GIL; the masks are read without it. A thread that got an array
  from another one sees the bits of what that one noted, until that stands in the engine's queues.
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

# Bits of the variables that noted calls write, and of those that they read or write.
cdef uint64_t noted_writes_mask
cdef uint64_t noted_mask
cdef int bulking  # threads that note calls; those that nobody has set count as one, by the default
# Pushes what is noted, if it writes `var`, or, with `reads`, if it reads it; NULL: whatever it is.
cdef int (*flush_noted)(void* var, bint reads) except -1 nogil
# How many functions that write a variable are noted: 0 or 1, which stays so until they are pushed.
# The caller holds the GIL.
cdef int (*count_noted)(void* var) except -1
# Gives back a reference to a Chunk that the program has held (_ndarray.pyx).
cdef void (*release_chunk)(void* chunk) noexcept

# Most calls that this thread notes; below 2: none. `set_limit` gives the old number.
cdef int deferred_call_limit() noexcept nogil
cdef int set_limit(int size) noexcept nogil
cdef int default_limit() noexcept nogil

cdef inline bint may_be_noted(const void* var, bint reads) noexcept nogil:
    return load_mask(&noted_mask if reads else &noted_writes_mask) & variable_bit(var) != 0

# Run noted calls that must come before `var` is read, or written (`writes`).
cdef inline int flush_before(void* var, bint writes) except -1 nogil:
    if may_be_noted(var, writes):
        return flush_noted(var, writes)
    return 0

cdef inline int flush_all() except -1 nogil:
    return 0 if load_mask(&noted_mask) == 0 else flush_noted(NULL, True)
