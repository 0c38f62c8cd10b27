"""Pooled memory per context: 64-byte aligned, size-class free lists, counters.

Promises:
- `alloc` never returns memory smaller than requested; on exhaustion it trims the pool, tries once
  more, then raises MemoryError with the pool's figures. The next smaller request succeeds.
- `free` gives the block back to its pool at once. Whoever frees memory the engine may still use
  does so from `_engine.delete_variable`'s on_delete.
- All functions are thread-safe; the pool's lock is never held while the GIL is requested.
- A device backend supplies four methods (`raw_alloc, raw_free, memory_info, synchronize`);
  everything else is here. The CPU's are native.
"""

cdef struct Handle:  # an allocated block of memory
    void* ptr
    size_t size      # number of bytes that were requested
    size_t capacity  # bytes of the size class
    int dev_type
    int dev_id

cdef int alloc(size_t nbytes, int dev_type, int dev_id, Handle* out) except -1 nogil
# Free a block and set handle.ptr to NULL; a handle whose ptr is NULL is left unchanged.
cdef void free(Handle* handle) noexcept nogil

# The number of calls of empty_cache, by which threads see that they should free their memory.
cdef unsigned long long empty_cache_count() noexcept nogil

# Bytes in use on a device, read without a lock.
cdef size_t bytes_in_use(int dev_type, int dev_id) noexcept nogil

cdef class Backend:  # allocator of a device type
    pass
