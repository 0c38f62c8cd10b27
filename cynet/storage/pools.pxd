"""C interface of the memory pools: host memory, arenas of pages, limits."""

from libc.stdint cimport uint64_t

cdef extern from "storage/host.h":
    void* cynet_host_alloc(size_t n) noexcept nogil
    void cynet_host_free(void* p) noexcept nogil
    void cynet_host_memory_sizes(size_t* available, size_t* total) noexcept nogil
    void cynet_at_fork(void (*before)() noexcept nogil, void (*parent)() noexcept nogil,
                       void (*child)() noexcept nogil) noexcept nogil
    int cynet_log2(size_t n) noexcept nogil
    size_t cynet_page_bytes() noexcept nogil
    void cynet_poison_unused(void* p, size_t used, size_t capacity) noexcept nogil
    bint KEEPS_MEMORY "CYNET_REUSES_MEMORY"

cdef extern from "storage/page_allocator.h":
    cppclass Lock "CynetSpinLock":
        # A holder never waits for the GIL, so a thread with the GIL may wait for the lock.
        void lock() noexcept nogil
        void unlock() noexcept nogil
    cppclass Arena "CynetArena":
        size_t free_bytes
        uint64_t due
        void init(size_t grain, uint64_t patience, uint64_t soon, size_t least) noexcept nogil
        size_t size_class_bytes(size_t n) noexcept nogil
        void* take_block(size_t n, size_t* got) noexcept nogil
        void* map_block(size_t n, size_t* got, uint64_t clock, Lock* lock) noexcept nogil
        void return_block(void* ptr) noexcept nogil
        size_t excess_bytes(uint64_t clock) noexcept nogil
        void* detach_blocks(size_t nbytes, bint all) noexcept nogil
        void unmap_blocks(void* blocks, Lock* lock) noexcept nogil
    bint HAS_ARENAS "CYNET_HAS_ARENAS"

cdef enum:
    N_SIZE_CLASSES = 4 + 4 * (47 - 8)  # 64, 128, 192, 256, then four per doubling up to 2**47
    N_DEVICE_TYPES = 6                 # device type codes are below this number
    N_DEVICE_IDS = 64                  # device indices with a pool of their own
    N_ARENAS = 4  # for blocks below MIDDLE_BYTES, LARGE_BYTES, HUGE_BYTES, and for larger ones
    MIDDLE_BYTES = 64 << 10            # most long-lived blocks are smaller: they split larger ones
    HUGE_PAGE_BYTES = 2 << 20  # size of a huge page of the system
    LARGE_BYTES = 4 * HUGE_PAGE_BYTES  # blocks of this size or more begin at huge pages
    HUGE_BYTES = 8 * HUGE_PAGE_BYTES  # the last arena has blocks of this size or more
    # Number of allocations after which unused memory is returned to the system, and the number
    # within which a new demand counts as recurring.
    TRIM_ALLOCATIONS = 4096  # allocations before unused memory is returned
    RECUR_ALLOCATIONS = 2 * TRIM_ALLOCATIONS  # allocations within which demand recurs
    HUGE_TRIM_ALLOCATIONS = 16  # the same for huge blocks
    MIN_RETAINED_BYTES = 32 << 20      # bytes that an arena never returns to the system
    HUGE_RECUR_ALLOCATIONS = 256 * HUGE_TRIM_ALLOCATIONS  # RECUR_ALLOCATIONS of huge blocks

cdef struct FreeBlock:  # entry of a free list
    # A free block in a free list: stored in the block's first bytes, or (on a device) apart.
    FreeBlock* next
    void* ptr
