"""Pools: one per device, free lists by size class, arenas of pages, counters."""

from libc.stdint cimport uint64_t
from libcpp.atomic cimport atomic

from ._typedefs cimport kCPU, kCPUPinned, kCPUShared, kGPU
from .storage.pools cimport (
    Arena, FreeBlock, HAS_ARENAS, HUGE_BYTES, HUGE_PAGE_BYTES, HUGE_RECUR_ALLOCATIONS,
    HUGE_TRIM_ALLOCATIONS, KEEPS_MEMORY, LARGE_BYTES, Lock, MIDDLE_BYTES, MIN_RETAINED_BYTES,
    N_ARENAS, N_DEVICE_IDS, N_DEVICE_TYPES, N_SIZE_CLASSES, RECUR_ALLOCATIONS, TRIM_ALLOCATIONS,
    cynet_at_fork, cynet_host_alloc, cynet_host_free, cynet_host_memory_sizes, cynet_poison_unused,
    cynet_log2, cynet_page_bytes
)

from .base import config
from .context import Context, load_gpu_backend
from .base.errors import ArgumentError, ArgumentTypeError, CynetError, OutOfMemoryError, shown

cdef size_t MAX_BLOCK_BYTES = (<size_t>1) << 47  # no address space holds a larger block


cdef cppclass Pool:
    Lock lock
    FreeBlock* lists[N_SIZE_CLASSES]
    Arena arenas[N_ARENAS]
    uint64_t due    # count of allocations at which the arenas are trimmed next
    size_t listed   # maximum bytes of a block of the free lists
    size_t used
    size_t cached   # bytes in the free lists
    size_t peak
    size_t limit
    uint64_t hits, misses
    void* backend  # borrowed from _backends, NULL: host memory
    int dev_type, dev_id


cdef Pool* _pools[N_DEVICE_TYPES][N_DEVICE_IDS]  # made under _pools_lock, never freed
cdef atomic[bint] _has_pool[N_DEVICE_TYPES][N_DEVICE_IDS]
cdef Lock _pools_lock
cdef atomic[unsigned long long] _empty_cache_calls
cdef dict _backends = {}  # device type -> Backend
cdef list _releasers = []  # functions that free per-thread memory of kernels
cdef size_t _host_limit


cdef class Backend:  # allocator of a device type
    """Base class of the allocators of a device type, whose memory is pooled. A subclass defines
    four methods, which are called with the GIL and without a lock.

    Examples
    --------
    >>> class Small(mx.storage.Backend):
    ...     def raw_alloc(self, nbytes, dev_id): return 1 << 20
    ...     def raw_free(self, address, nbytes, dev_id): pass
    ...     def memory_info(self, dev_id): return 1000, 4000
    ...     def synchronize(self, dev_id): pass
    >>> Small().memory_info(0)
    (1000, 4000)
    """

    def raw_alloc(self, nbytes, dev_id):
        """Give the address of fresh memory, 64-byte aligned, or fail with a MemoryError.

        Parameters
        ----------
        nbytes, dev_id : int
            Number of bytes, and index of the device.
        """
        raise CynetError(f"{type(self).__name__} defines no raw_alloc")

    def raw_free(self, address, nbytes, dev_id):
        """Free memory that raw_alloc returned.

        Parameters
        ----------
        address, nbytes, dev_id : int
            Address and number of bytes of the memory, and index of the device.
        """
        raise CynetError(f"{type(self).__name__} defines no raw_free")

    def memory_info(self, dev_id):
        """Give (free, total) bytes of the device.

        Parameters
        ----------
        dev_id : int
            Index of the device.
        """
        raise CynetError(f"{type(self).__name__} defines no memory_info")

    def synchronize(self, dev_id):
        """Wait until the device has finished all enqueued work.

        Parameters
        ----------
        dev_id : int
            Index of the device.
        """
        raise CynetError(f"{type(self).__name__} defines no synchronize")


cdef inline int _size_class_of(size_t nbytes, size_t* capacity) noexcept nogil:
    """Index of the smallest class that holds nbytes (1 .. MAX_BLOCK_BYTES), and its size."""
    cdef int exponent, step
    cdef size_t unit
    if nbytes <= 256:
        step = <int>((nbytes + 63) >> 6)
        capacity[0] = <size_t>step << 6
        return step - 1
    exponent = cynet_log2(nbytes - 1)
    unit = (<size_t>1) << (exponent - 2)
    step = <int>((nbytes - 1) >> (exponent - 2)) - 3  # 1 .. 4
    capacity[0] = ((<size_t>1) << exponent) + step * unit
    return 3 + 4 * (exponent - 8) + step


cdef int _raise_no_pool(int dev_type, int dev_id) except -1 with gil:
    name = Context.devtype2str.get(dev_type, f"device type {dev_type}")
    raise ArgumentError(f"{name}({dev_id}) does not exist: "
                        f"device indices are 0 to {N_DEVICE_IDS - 1}")


cdef int _make_pool(int dev_type, int dev_id) except -1 with gil:
    """Create the pool of a device, whose type and id are valid."""
    cdef Pool* pool
    backend = _backends.get(dev_type)
    if backend is None and dev_type in (kGPU, kCPUPinned):
        try:
            load_gpu_backend()
        except CynetError:
            if dev_type == kGPU:
                raise
        # None where no GPU is used: pinned memory is then ordinary host memory
        backend = _backends.get(dev_type)
    if backend is None and dev_type not in (kCPU, kCPUPinned, kCPUShared):
        _raise_no_pool(dev_type, dev_id)
    cdef size_t limit = _host_limit
    if backend is not None:
        limit = <size_t>-1  # a device's memory stays cached until a request fails
        backend.memory_info(dev_id)  # raises for a device that does not exist
    _pools_lock.lock()
    if not _has_pool[dev_type][dev_id].load():
        pool = new Pool()
        pool.limit = limit
        pool.due = <uint64_t>-1
        pool.listed = MAX_BLOCK_BYTES
        if backend is None and not KEEPS_MEMORY:
            pool.limit = 0
        elif backend is None and HAS_ARENAS:
            pool.listed = 4 * cynet_page_bytes()
            pool.arenas[0].init(
                cynet_page_bytes(), TRIM_ALLOCATIONS, RECUR_ALLOCATIONS, MIN_RETAINED_BYTES)
            pool.arenas[1].init(
                cynet_page_bytes(), TRIM_ALLOCATIONS, RECUR_ALLOCATIONS, MIN_RETAINED_BYTES)
            pool.arenas[2].init(
                HUGE_PAGE_BYTES, TRIM_ALLOCATIONS, RECUR_ALLOCATIONS, MIN_RETAINED_BYTES)
            pool.arenas[3].init(HUGE_PAGE_BYTES, HUGE_TRIM_ALLOCATIONS, HUGE_RECUR_ALLOCATIONS, 0)
        pool.backend = <void*>backend if backend is not None else NULL
        pool.dev_type = dev_type
        pool.dev_id = dev_id
        _pools[dev_type][dev_id] = pool
        _has_pool[dev_type][dev_id].store(True)
    _pools_lock.unlock()
    return 0


cdef inline Pool* _device_pool(int dev_type, int dev_id) except NULL nogil:
    if dev_id >= N_DEVICE_IDS and (dev_type == kCPU or dev_type == kCPUShared):
        dev_id &= N_DEVICE_IDS - 1  # all ids have the same memory
    if dev_type < 0 or dev_type >= N_DEVICE_TYPES or dev_id < 0 or dev_id >= N_DEVICE_IDS:
        _raise_no_pool(dev_type, dev_id)
    if not _has_pool[dev_type][dev_id].load():
        _make_pool(dev_type, dev_id)
    return _pools[dev_type][dev_id]


cdef void* _raw_alloc(Pool* pool, size_t capacity) except? NULL nogil:
    """Allocate memory from the system or backend; NULL without an exception if there is none."""
    if pool.backend == NULL:
        return cynet_host_alloc(capacity)
    with gil:
        try:
            return <void*><size_t>(<object>pool.backend).raw_alloc(capacity, pool.dev_id)
        except MemoryError:
            return NULL


cdef void _raw_free(Pool* pool, void* ptr, size_t capacity) noexcept nogil:
    if pool.backend == NULL:
        cynet_host_free(ptr)
        return
    with gil:
        (<object>pool.backend).raw_free(<size_t>ptr, capacity, pool.dev_id)


cdef inline size_t _cached_bytes(Pool* pool) noexcept nogil:
    cdef size_t total = pool.cached
    cdef int i
    for i in range(N_ARENAS):
        total += pool.arenas[i].free_bytes
    return total


cdef inline void _count_allocation(Pool* pool, size_t capacity) noexcept nogil:
    pool.used += capacity
    if pool.used > pool.peak:
        pool.peak = pool.used


cdef void _release_idle_memory(Pool* pool) noexcept nogil:
    """Return memory that the arenas have not used for a long time to the system."""
    cdef void* blocks
    cdef Arena* arena
    cdef uint64_t due
    cdef int i, k
    for i in range(N_ARENAS):
        arena = &pool.arenas[i]
        pool.lock.lock()
        blocks = arena.detach_blocks(arena.excess_bytes(pool.hits + pool.misses), False)
        due = pool.arenas[0].due
        for k in range(1, N_ARENAS):
            due = min(due, pool.arenas[k].due)
        pool.due = due
        pool.lock.unlock()
        arena.unmap_blocks(blocks, &pool.lock)


cdef size_t _release_cached_memory(Pool* pool) noexcept nogil:
    """Free all cached memory of a pool; returns its bytes."""
    cdef FreeBlock* lists[N_SIZE_CLASSES]
    cdef FreeBlock *node, *after
    cdef void *blocks, *ptr
    cdef size_t given, capacity
    cdef int i
    pool.lock.lock()
    for i in range(N_SIZE_CLASSES):
        lists[i] = pool.lists[i]
        pool.lists[i] = NULL
    given = pool.cached
    pool.cached = 0
    pool.lock.unlock()
    for i in range(N_SIZE_CLASSES):
        capacity = _size_class_capacity(i)
        node = lists[i]
        while node != NULL:
            after = node.next
            ptr = node.ptr
            if pool.backend != NULL:
                cynet_host_free(node)
            _raw_free(pool, ptr, capacity)
            node = after
    for i in range(N_ARENAS):
        pool.lock.lock()
        given += pool.arenas[i].free_bytes
        blocks = pool.arenas[i].detach_blocks(pool.arenas[i].free_bytes, True)
        pool.lock.unlock()
        pool.arenas[i].unmap_blocks(blocks, &pool.lock)
    return given


cdef inline size_t _size_class_capacity(int index) noexcept nogil:
    """Bytes of a size class."""
    if index < 4:
        return (<size_t>(index + 1)) << 6
    cdef int exponent = 8 + (index - 4) // 4
    return ((<size_t>1) << exponent) + (<size_t>((index - 4) % 4 + 1) << (exponent - 2))


cdef int _raise_out_of_memory(Pool* pool, size_t nbytes, size_t given) except -1 with gil:
    ctx = Context(Context.devtype2str[pool.dev_type], pool.dev_id)
    figures, (available, total) = _pool_statistics(pool), memory_info(ctx)
    raise OutOfMemoryError(
        f"{ctx} has no {nbytes} bytes: {figures['used_bytes']} in use, {given} were cached and have"
        f" been given back, peak {figures['peak_bytes']}; the device has {available} of {total}"
        " bytes free")


cdef void* _alloc_from_list(Pool* pool, size_t nbytes, size_t* capacity) except? NULL nogil:
    """Return a block of a size class; NULL without an exception if memory is exhausted."""
    cdef int index = _size_class_of(nbytes, capacity)
    cdef FreeBlock* node
    cdef void* ptr
    cdef bint due
    pool.lock.lock()
    node = pool.lists[index]
    if node != NULL:
        pool.lists[index] = node.next
        ptr = node.ptr
        pool.cached -= capacity[0]
        pool.hits += 1
        _count_allocation(pool, capacity[0])
        due = pool.hits + pool.misses >= pool.due
        pool.lock.unlock()
        if pool.backend != NULL:
            cynet_host_free(node)
        if due:
            _release_idle_memory(pool)
        return ptr
    pool.misses += 1
    pool.lock.unlock()
    ptr = _raw_alloc(pool, capacity[0])
    if ptr != NULL:
        pool.lock.lock()
        _count_allocation(pool, capacity[0])
        pool.lock.unlock()
    return ptr


cdef inline Arena* _arena_for_size(Pool* pool, size_t nbytes) noexcept nogil:
    return &pool.arenas[(nbytes >= MIDDLE_BYTES) + (nbytes >= LARGE_BYTES) + (nbytes >= HUGE_BYTES)]


cdef void* _alloc_from_arena(Pool* pool, size_t nbytes, size_t* capacity) noexcept nogil:
    """Return whole pages of host memory from an arena; NULL if memory is exhausted."""
    cdef size_t rounded = _arena_for_size(pool, nbytes).size_class_bytes(nbytes)
    cdef Arena* arena = _arena_for_size(pool, rounded)
    cdef uint64_t clock
    cdef void* ptr
    cdef bint due
    pool.lock.lock()
    ptr = arena.take_block(rounded, capacity)
    if ptr != NULL:
        pool.hits += 1
        _count_allocation(pool, capacity[0])
        due = pool.hits + pool.misses >= pool.due
        pool.lock.unlock()
        if due:
            _release_idle_memory(pool)
        return ptr
    pool.misses += 1
    clock = pool.hits + pool.misses
    pool.lock.unlock()
    ptr = arena.map_block(rounded, capacity, clock, &pool.lock)
    if ptr != NULL:
        pool.lock.lock()
        _count_allocation(pool, capacity[0])
        pool.due = min(pool.due, arena.due)
        pool.lock.unlock()
    return ptr


cdef int alloc(size_t nbytes, int dev_type, int dev_id, Handle* out) except -1 nogil:
    """Allocate a block of at least nbytes (0 counts as 1), uninitialised."""
    cdef Pool* pool = _device_pool(dev_type, dev_id)
    cdef size_t given = 0
    cdef size_t wanted = nbytes if nbytes else 1
    cdef void* ptr = NULL
    cdef int attempt
    if nbytes > MAX_BLOCK_BYTES:
        _raise_out_of_memory(pool, nbytes, 0)
    for attempt in range(2):
        if wanted <= pool.listed:
            ptr = _alloc_from_list(pool, wanted, &out.capacity)
        else:
            ptr = _alloc_from_arena(pool, wanted, &out.capacity)
        if ptr != NULL:
            break
        if attempt == 0:
            given = _release_cached_memory(pool)
        else:
            _raise_out_of_memory(pool, nbytes, given)
    if pool.backend == NULL:
        cynet_poison_unused(ptr, wanted, out.capacity)
    out.ptr = ptr
    out.size = nbytes
    out.dev_type = dev_type
    out.dev_id = pool.dev_id
    return 0


cdef void free(Handle* handle) noexcept nogil:
    """Return a block to its pool, or to the system if the pool is full."""
    cdef void* ptr = handle.ptr
    cdef size_t capacity = handle.capacity
    cdef Pool* pool
    if ptr == NULL:
        return
    handle.ptr = NULL
    pool = _pools[handle.dev_type][handle.dev_id]
    if pool.backend == NULL:
        cynet_poison_unused(ptr, capacity, capacity)
    if capacity <= pool.listed:
        _free_to_list(pool, ptr, capacity)
    else:
        _free_to_arena(pool, ptr, capacity)


cdef void _free_to_list(Pool* pool, void* ptr, size_t capacity) noexcept nogil:  # of free blocks
    cdef int index = _size_class_of(capacity, &capacity)
    cdef FreeBlock* node = <FreeBlock*>ptr
    if pool.backend != NULL:
        node = <FreeBlock*>cynet_host_alloc(sizeof(FreeBlock))
    pool.lock.lock()
    pool.used -= capacity
    if node != NULL and _cached_bytes(pool) + capacity <= pool.limit:
        node.ptr = ptr
        node.next = pool.lists[index]
        pool.lists[index] = node
        pool.cached += capacity
        pool.lock.unlock()
        return
    pool.lock.unlock()
    if pool.backend != NULL and node != NULL:
        cynet_host_free(node)
    _raw_free(pool, ptr, capacity)


cdef void _free_to_arena(Pool* pool, void* ptr, size_t capacity) noexcept nogil:
    cdef Arena* arena = _arena_for_size(pool, capacity)
    cdef void* over = NULL
    cdef size_t cached
    pool.lock.lock()
    pool.used -= capacity
    arena.return_block(ptr)
    cached = _cached_bytes(pool)
    if cached > pool.limit:
        over = arena.detach_blocks(cached - pool.limit, False)
    pool.lock.unlock()
    if over != NULL:
        arena.unmap_blocks(over, &pool.lock)


cdef unsigned long long empty_cache_count() noexcept nogil:
    return _empty_cache_calls.load()


# --- fork: no thread may hold a lock while the process is copied ---------------------------------
cdef void _lock_before_fork() noexcept nogil:
    cdef int i, j
    _pools_lock.lock()
    for i in range(N_DEVICE_TYPES):
        for j in range(N_DEVICE_IDS):
            if _has_pool[i][j].load():
                _pools[i][j].lock.lock()


cdef void _unlock_after_fork() noexcept nogil:
    cdef int i, j
    for i in range(N_DEVICE_TYPES):
        for j in range(N_DEVICE_IDS):
            if _has_pool[i][j].load():
                _pools[i][j].lock.unlock()
    _pools_lock.unlock()


cdef size_t bytes_in_use(int dev_type, int dev_id) noexcept nogil:
    dev_id &= N_DEVICE_IDS - 1
    return _pools[dev_type][dev_id].used if _has_pool[dev_type][dev_id].load() else 0


# --- for Python (exported by storage/__init__.py) ------------------------------------------------
cdef Pool* _pool_of(ctx) except NULL:
    ctx = Context(ctx)
    return _device_pool(ctx.device_typeid, ctx.device_id)


cdef dict _pool_statistics(Pool* pool):
    cdef size_t used, cached, peak
    cdef uint64_t hits, misses
    pool.lock.lock()
    used, cached, peak = pool.used, _cached_bytes(pool), pool.peak
    hits, misses = pool.hits, pool.misses
    pool.lock.unlock()
    return dict(used_bytes=used, cached_bytes=cached, peak_bytes=peak, hits=hits, misses=misses)


def stats(ctx):
    """Return statistics of a device's pool.

    Parameters
    ----------
    ctx : Context
        The device.

    Returns
    -------
    dict
        ``used_bytes`` in use (a little more than was requested), ``cached_bytes`` free for reuse,
        ``peak_bytes`` in use at once, ``hits`` of the cache, ``misses`` that went to the device.

    Raises
    ------
    MXNetError
        The device does not exist here.

    Examples
    --------
    >>> sorted(mx.storage.stats(mx.cpu()))
    ['cached_bytes', 'hits', 'misses', 'peak_bytes', 'used_bytes']
    """
    return _pool_statistics(_pool_of(ctx))


def memory_info(ctx):
    """Give (free, total) bytes of the device's memory.

    Parameters
    ----------
    ctx : Context
        The device.

    Examples
    --------
    >>> mx.storage.memory_info(mx.cpu()) > (0, 0)
    True
    """
    cdef size_t available = 0, total = 0
    cdef Pool* pool = _pool_of(ctx)
    if pool.backend != NULL:
        return (<object>pool.backend).memory_info(pool.dev_id)
    cynet_host_memory_sizes(&available, &total)
    return available, total


def empty_cache(ctx):
    """Return a pool's unused memory to the device; memory in use stays.

    Of more than a thousand holes between blocks in use the pages go back, not the addresses, which
    ``cached_bytes`` still counts. Other threads give temporary space back when they next need some.

    Parameters
    ----------
    ctx : Context
        The device.

    Examples
    --------
    >>> mx.storage.empty_cache(mx.cpu())
    >>> mx.storage.stats(mx.cpu())["cached_bytes"]
    0
    """
    cdef Pool* pool = _pool_of(ctx)
    _empty_cache_calls.fetch_add(1)
    for release in _releasers:
        release()
    with nogil:
        _release_cached_memory(pool)


def call_on_empty_cache(release):
    """Register a function that empty_cache calls, on the thread that calls empty_cache."""
    _releasers.append(release)


def register_backend(device_type, backend):
    """Register the allocator of all devices of a type.

    Parameters
    ----------
    device_type : str
        Type of the devices, ``'gpu'`` or ``'cpu_pinned'``.
    backend : Backend
        Supplies the memory.

    Raises
    ------
    ArgumentError
        The type is not one of these, or memory of it has been used already.

    Examples
    --------
    >>> mx.storage.register_backend("cpu", mx.storage.Backend())  # host memory has its own backend
    Traceback (most recent call last):
    cynet.errors.ArgumentError: device_type must be 'gpu' or 'cpu_pinned', got 'cpu'
    """
    if device_type not in ("gpu", "cpu_pinned"):
        raise ArgumentError(f"device_type must be 'gpu' or 'cpu_pinned', got {shown(device_type)}")
    if not isinstance(backend, Backend):
        raise ArgumentTypeError(f"backend must be a storage Backend, got {type(backend).__name__}")
    cdef int i, code = Context.devstr2type[device_type]
    for i in range(N_DEVICE_IDS):
        if _has_pool[code][i].load():
            raise ArgumentError(f"{device_type}({i}) already has a pool: register before use")
    _backends[code] = backend


def backend_of(device_type):
    """Return the Backend of a device type; None if none is registered."""
    return _backends.get(Context.devstr2type[device_type])


def has_backend(device_type):
    """Return whether memory of a device type can be allocated.

    Parameters
    ----------
    device_type : str
        ``'cpu'``, ``'gpu'``, ``'cpu_pinned'`` or ``'cpu_shared'``.

    Examples
    --------
    >>> mx.storage.has_backend("cpu"), mx.storage.has_backend("tpu")
    (True, False)
    """
    code = Context.devstr2type.get(device_type)
    return code in (kCPU, kCPUPinned, kCPUShared) or code in _backends


cdef _read_settings():
    global _host_limit
    cdef size_t available = 0, total = 0
    cynet_host_memory_sizes(&available, &total)
    _host_limit = (<size_t>config.get("CYNET_STORAGE_CACHE_MB") << 20) or total // 4
    cynet_at_fork(_lock_before_fork, _unlock_after_fork, _unlock_after_fork)


_read_settings()
