"""Temporary space (a buffer per thread and request), random streams (counters per device)."""

from libc.stdint cimport uint64_t
from libcpp.unordered_map cimport unordered_map

from ._storage cimport Handle, alloc, free, empty_cache_count
from ._typedefs cimport kCPU, kGPU

from ._storage import call_on_empty_cache
from .context import Context
from .base.errors import ArgumentError, ArgumentTypeError, shown

cdef extern from "storage/host.h":
    void cynet_poison_unused(void* p, size_t used, size_t capacity) noexcept nogil

cdef extern from *:
    """
    #include <mutex>
    #if !defined(_WIN32)
    #include <pthread.h>
    #endif
    // A thread's temporary buffers. `owner` frees them when the thread ends.
    struct CynetTempBuffer {
        // as _storage.pxd's Handle
        void* ptr; size_t size; size_t capacity; int dev_type; int dev_id;
        unsigned long long trims;
    };
    static const int CYNET_TEMPS = 64;  // temporary spaces of the host, and as many of a GPU
    static void (*cynet_temp_free)(CynetTempBuffer*);
    struct CynetTemps {
        CynetTempBuffer items[2 * CYNET_TEMPS];
        CynetTemps() : items() {}
        ~CynetTemps() {
            for (int i = 0; i < 2 * CYNET_TEMPS; ++i) if (items[i].ptr) cynet_temp_free(&items[i]);
        }
    };
    static thread_local void* cynet_retained_space = nullptr;
    static CynetTempBuffer* cynet_temps() {
        static thread_local CynetTemps temps; return temps.items; }
    // Streams of this thread alone, in place of the CPU's, while `own` is set.
    struct CynetOwnStreams { bool own; unsigned long long seed, drawn; };
    static thread_local CynetOwnStreams cynet_own_streams;
    static void cynet_resource_at_fork(void (*before)(), void (*parent)(), void (*child)()) {
    #if !defined(_WIN32)
        pthread_atfork(before, parent, child);
    #endif
    }
    """
    cppclass Mutex "std::mutex":
        void lock() noexcept nogil
        void unlock() noexcept nogil
    ctypedef struct TempBuffer "CynetTempBuffer":  # temporary memory of a thread
        void* ptr
        size_t size
        size_t capacity
        int dev_type
        int dev_id
        unsigned long long trims
    int TEMPS "CYNET_TEMPS"
    void (*free_temp_at_exit "cynet_temp_free")(TempBuffer*) noexcept nogil
    TempBuffer* temps "cynet_temps" () noexcept nogil
    void* retained_space "cynet_retained_space"
    ctypedef struct OwnRandomStreams "CynetOwnStreams":  # a seed that replaces a device's
        bint own
        unsigned long long seed
        unsigned long long drawn
    OwnRandomStreams own_streams "cynet_own_streams"
    void at_fork "cynet_resource_at_fork" (
        void (*before)() noexcept nogil, void (*parent)() noexcept nogil,
        void (*child)() noexcept nogil) noexcept nogil

cdef enum:
    N_DEVICE_TYPES = 6  # device type codes are below this number
    N_DEVICE_IDS = 64  # device indices below this have generators

cdef struct RandomGenerator:  # state of a device's random numbers
    uint64_t seed
    uint64_t drawn  # streams given out since the last seed

cdef RandomGenerator _generators[N_DEVICE_TYPES][N_DEVICE_IDS]
cdef unordered_map[uint64_t, RandomGenerator] _more_generators  # of indices >= N_DEVICE_IDS
cdef uint64_t _seed = 0  # seed of all devices
cdef Mutex _lock  # guards the generators and the seed; held for a few instructions


# --- temporary space -----------------------------------------------------------------------------
cdef void _free_temp_buffer(TempBuffer* temp) noexcept nogil:
    cdef Handle handle
    handle.ptr, handle.size, handle.capacity = temp.ptr, temp.size, temp.capacity
    handle.dev_type, handle.dev_id = temp.dev_type, temp.dev_id
    free(&handle)
    temp.ptr = NULL
    temp.capacity = 0


cdef int _raise_bad_resource_index(int index) except -1 with gil:
    raise ArgumentError(
        f"resource index {index} is out of range: an operator requests at most {TEMPS} resources")


cdef void* get_space(Resource* resource, size_t nbytes) except NULL nogil:  # temporary memory
    """Return this thread's buffer of the resource's index, enlarged to at least nbytes."""
    if resource.index < 0 or resource.index >= TEMPS:
        _raise_bad_resource_index(resource.index)
    return _grow_workspace(temps() + resource.index, nbytes, kCPU, 0)


cdef void* get_device_workspace(int dev_id, int index, size_t nbytes) except NULL nogil:
    """Return this thread's buffer `index` on a GPU, or, after `retain_device_workspace`, a buffer
    of its RetainedSpace."""
    cdef Handle handle
    cdef RetainedSpace* keep
    if index < 0 or index >= TEMPS:
        _raise_bad_resource_index(index)
    if retained_space == NULL:
        return _grow_workspace(temps() + TEMPS + index, nbytes, kGPU, dev_id)
    keep = <RetainedSpace*>retained_space
    if keep.newest[index] == 0 or keep.handles[keep.newest[index] - 1].capacity < nbytes:
        alloc(nbytes, kGPU, dev_id, &handle)
        keep.handles.push_back(handle)
        keep.newest[index] = keep.handles.size()
    return keep.handles[keep.newest[index] - 1].ptr


cdef void retain_device_workspace(RetainedSpace* keep) noexcept nogil:
    global retained_space
    retained_space = keep


cdef void* _grow_workspace(
        TempBuffer* temp, size_t nbytes, int dev_type, int dev_id) except NULL nogil:
    cdef Handle handle
    if (temp.capacity >= nbytes and temp.ptr != NULL and temp.trims == empty_cache_count()
            and temp.dev_id == dev_id):
        if dev_type == kCPU:
            cynet_poison_unused(temp.ptr, nbytes, temp.capacity)
        return temp.ptr
    if temp.ptr != NULL:
        _free_temp_buffer(temp)
    alloc(nbytes, dev_type, dev_id, &handle)
    temp.ptr, temp.size, temp.capacity = handle.ptr, handle.size, handle.capacity
    temp.dev_type, temp.dev_id = handle.dev_type, handle.dev_id
    temp.trims = empty_cache_count()
    return temp.ptr


def release_workspaces():
    """Give this thread's temporary space back to the pool (empty_cache calls it)."""
    cdef TempBuffer* mine = temps()
    cdef int i
    for i in range(2 * TEMPS):
        if mine[i].ptr != NULL:
            _free_temp_buffer(mine + i)


# --- random streams ------------------------------------------------------------------------------
cdef inline RandomGenerator* _generator_of(int dev_type, int dev_id) noexcept nogil:
    # `_lock` must be held.
    cdef uint64_t key
    if 0 <= dev_id < N_DEVICE_IDS:
        return &_generators[dev_type & 7 if (dev_type & 7) < N_DEVICE_TYPES else 0][dev_id]
    key = (<uint64_t>dev_type << 32) | <uint64_t><unsigned int>dev_id
    if _more_generators.count(key) == 0:
        _more_generators[key].seed = _device_seed(_seed, dev_id)
        _more_generators[key].drawn = 0
    return &_more_generators[key]


cdef void draw_rng_stream(Resource* resource, int dev_type, int dev_id) noexcept nogil:
    """Take the device's next stream if the resource is random; nothing for temporary space."""
    if resource.type == kRandom:
        resource.stream = draw_rng_streams(1, dev_type, dev_id, &resource.seed)


cdef uint64_t draw_rng_streams(uint64_t n, int dev_type, int dev_id, uint64_t* seed) noexcept nogil:
    """Take the next n streams; returns the index of the first."""
    cdef RandomGenerator* generator
    cdef uint64_t first
    if own_streams.own and dev_type == kCPU:
        seed[0] = _device_seed(own_streams.seed, dev_id)
        first = own_streams.drawn
        own_streams.drawn = first + n
        return first
    _lock.lock()
    generator = _generator_of(dev_type, dev_id)
    seed[0] = generator.seed
    first = generator.drawn
    generator.drawn = first + n
    _lock.unlock()
    return first


cdef uint64_t _device_seed(uint64_t seed, int dev_id) noexcept nogil:
    # Device 0 uses the seed itself; other devices get other seeds, so that their numbers differ.
    return seed + <uint64_t>dev_id * <uint64_t>0x9E3779B97F4A7C15


def seed_device(seed, ctx="all"):
    """Seed the generator of one device or of all; the implementation of ``mx.random.seed``.

    seed (int): Any integer; its low 64 bits count.
    ctx (Context or 'all'): With 'all', devices of different index yield different numbers; a device
        seeded by name yields those of index 0.
    """
    global _seed
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise ArgumentError(f"seed must be an int, got {shown(seed)}")
    cdef uint64_t number = <uint64_t>(seed.__index__() & 0xFFFFFFFFFFFFFFFF)
    cdef int i, j, dev_type, dev_id
    if isinstance(ctx, str):
        if ctx != "all":
            raise ArgumentError(f"ctx must be a Context or 'all', got {shown(ctx)}")
        _lock.lock()
        _seed = number
        _more_generators.clear()
        for i in range(N_DEVICE_TYPES):
            for j in range(N_DEVICE_IDS):
                _generators[i][j].seed = _device_seed(number, j)
                _generators[i][j].drawn = 0
        _lock.unlock()
        return
    if not isinstance(ctx, Context):
        raise ArgumentTypeError(f"ctx must be a Context or 'all', got {shown(ctx)}")
    dev_type, dev_id = ctx.device_typeid, ctx.device_id
    _lock.lock()
    _generator_of(dev_type, dev_id).seed = number
    _generator_of(dev_type, dev_id).drawn = 0
    _lock.unlock()


def random_state():
    """(seed of all devices, [(device type, index, seed, streams drawn), ...]) for
    `set_random_state`; the list has the devices whose state differs from that of a fresh seed. All
    are ints."""
    cdef int i, j
    cdef RandomGenerator one
    found = []
    _lock.lock()
    try:
        for i in range(N_DEVICE_TYPES):
            for j in range(N_DEVICE_IDS):
                one = _generators[i][j]
                if one.drawn or one.seed != _device_seed(_seed, j):
                    found.append((i, j, one.seed, one.drawn))
        for each in _more_generators:
            found.append((each.first >> 32, each.first & 0xFFFFFFFF, each.second.seed,
                          each.second.drawn))
        return _seed, found
    finally:
        _lock.unlock()


def set_random_state(state):
    """Restore the state of all devices' generators that `random_state` returned.

    Raises ArgumentError when that is no such state.
    """
    cdef RandomGenerator* generator
    cdef int dev_type, dev_id
    cdef uint64_t seed, drawn
    try:
        base, devices = state
        devices = [tuple(int(n) for n in each) for each in devices]
        good = all(len(each) == 4 and 0 <= each[0] < N_DEVICE_TYPES and 0 <= each[1] < 1 << 31
                   and 0 <= each[2] < 1 << 64 and 0 <= each[3] < 1 << 64 for each in devices)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ArgumentError(f"expected a state of random generators, got {shown(state)}")
    seed_device(base)
    for each in devices:
        dev_type, dev_id, seed, drawn = each
        _lock.lock()
        generator = _generator_of(dev_type, dev_id)
        generator.seed, generator.drawn = seed, drawn
        _lock.unlock()


def use_own_random_streams(state):
    """Let this thread use random streams of its own on the CPU, or the device's again.

    state ((int, int) or None): (seed, streams drawn), a seed as of `seed_device`; None: the
        device's streams again.

    Returns (int, int) or None: what there was before.
    """
    before = (own_streams.seed, own_streams.drawn) if own_streams.own else None
    own_streams.own = state is not None
    if state is not None:
        own_streams.seed = <uint64_t>(state[0] & 0xFFFFFFFFFFFFFFFF)
        own_streams.drawn = <uint64_t>state[1]
    return before


def next_rng_stream(ctx):
    """Take the device's next random stream: (seed, stream), for tests and for Python operators."""
    cdef uint64_t seed
    cdef uint64_t stream = draw_rng_streams(1, ctx.device_typeid, ctx.device_id, &seed)
    return seed, stream


def workspace_address(int index, size_t nbytes):
    """Return the address of this thread's temporary space `index` of at least nbytes, for tests."""
    cdef Resource resource
    resource.type, resource.index = kTempSpace, index
    return <size_t>get_space(&resource, nbytes)


cdef void _lock_before_fork() noexcept nogil:
    _lock.lock()


cdef void _unlock_after_fork() noexcept nogil:
    _lock.unlock()


free_temp_at_exit = _free_temp_buffer  # C++ calls it at the end of a thread
call_on_empty_cache(release_workspaces)
at_fork(_lock_before_fork, _unlock_after_fork, _unlock_after_fork)
seed_device(0)
