"""Parts of pools: memory of the host, arenas of pages, limits."""

from libc.stdint cimport uint64_t

cdef extern from "storage/host.h":
    void* cynet_host_alloc(size_t n) noexcept nogil
    void cynet_host_free(void* p) noexcept nogil
    void cynet_host_memory(size_t* available, size_t* total) noexcept nogil
    void cynet_at_fork(void (*before)() noexcept nogil, void (*parent)() noexcept nogil,
                       void (*child)() noexcept nogil) noexcept nogil
    int cynet_log2(size_t n) noexcept nogil
    size_t cynet_page() noexcept nogil
    void cynet_limit_block(void* p, size_t used, size_t capacity) noexcept nogil
    bint KEEPS_MEMORY "CYNET_KEEPS_MEMORY"

cdef extern from "storage/page_allocator.h":
    cppclass Lock "CynetSpinLock":
        # A thread that holds it does not wait for the GIL, so taking it with the GIL held cannot
        # deadlock.
        void lock() noexcept nogil
        void unlock() noexcept nogil
    cppclass Arena "CynetArena":
        size_t free_bytes
        uint64_t due
        void init(size_t grain, uint64_t patience, uint64_t soon, size_t least) noexcept nogil
        size_t round(size_t n) noexcept nogil
        void* take(size_t n, size_t* got) noexcept nogil
        void* grow(size_t n, size_t* got, uint64_t clock, Lock* lock) noexcept nogil
        void give(void* ptr) noexcept nogil
        size_t excess(uint64_t clock) noexcept nogil
        void* detach(size_t nbytes, bint all) noexcept nogil
        void unmap(void* blocks, Lock* lock) noexcept nogil
    bint HAS_ARENAS "CYNET_HAS_ARENAS"

cdef enum:
    CLASSES = 4 + 4 * (47 - 8)  # 64, 128, 192, 256, then four steps to each doubling up to 2**47
    TYPES = 6                   # device type codes are below this number
    IDS = 64                    # device indices with a pool of their own
    ARENAS = 4                  # arenas for blocks below MIDDLE, LARGE, HUGE, and for larger ones
    MIDDLE = 64 << 10           # long-lived blocks are mostly smaller: they would split larger ones
    HUGE_PAGE = 2 << 20
    LARGE = 4 * HUGE_PAGE       # blocks of this size or more begin at huge pages
    HUGE = 8 * HUGE_PAGE
    # Allocations after which unused memory is returned to the system; and those within which a new
    # demand counts as recurring.
    PATIENCE = 4096
    SOON = 2 * PATIENCE
    HUGE_PATIENCE = 16
    MIN_RETAINED = 32 << 20       # bytes of an arena that stay whether needed or not
    HUGE_SOON = 256 * HUGE_PATIENCE

cdef struct Node:
    # A free block's first bytes, or (on a device) a record beside it.
    Node* next
    void* ptr
