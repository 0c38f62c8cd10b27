"""Native threads that allocate and free at the same time, for tests and benchmarks."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memset

from .._resource cimport Resource, draw_rng_streams, get_space, kTempSpace
from .._storage cimport Handle, alloc, free
from .._typedefs cimport kCPU

cdef extern from *:
    """
    #include <chrono>
    #include <mutex>
    #include <thread>
    #include <vector>
    static void cynet_run_threads(int n, void (*body)(int)) {
        std::vector<std::thread> threads;
        for (int i = 0; i < n; ++i) threads.emplace_back(body, i);
        for (auto& t : threads) t.join();
    }
    static double cynet_now() {
        const auto since = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration<double>(since).count();
    }
    """
    void cynet_run_threads(int n, void (*body)(int) noexcept nogil) noexcept nogil
    double cynet_now() noexcept nogil
    cppclass Mutex "std::mutex":
        void lock() noexcept nogil
        void unlock() noexcept nogil

cdef enum:
    N_SLOTS = 32  # number of blocks that the threads share
    CHECKED_BYTES = 3000   # of larger blocks only some bytes are checked
    CHECK_STRIDE = 4001  # distance of the bytes checked in larger blocks

cdef Handle _shared[N_SLOTS]  # blocks that any thread may take and free
cdef uint8_t _marks[N_SLOTS]
cdef Mutex _lock
cdef int _rounds
cdef uint64_t _wrong


cdef bint _holds_mark(const Handle* block, uint8_t mark) noexcept nogil:
    cdef const uint8_t* data = <const uint8_t*>block.ptr
    cdef size_t step = 1 if block.size <= CHECKED_BYTES else CHECK_STRIDE
    cdef size_t i = 0
    while i < block.size:
        if data[i] != mark:
            return False
        i += step
    return data[block.size - 1] == mark


cdef void _fill_with_mark(Handle* block, uint8_t mark) noexcept nogil:
    cdef uint8_t* data = <uint8_t*>block.ptr
    cdef size_t i = 0
    if block.size <= CHECKED_BYTES:
        memset(data, mark, block.size)
        return
    while i < block.size:
        data[i] = mark
        i += CHECK_STRIDE
    data[block.size - 1] = mark


cdef void _run_stress_thread(int index) noexcept nogil:
    cdef uint64_t state = <uint64_t>index * <uint64_t>2654435761u + 12345
    cdef uint64_t wrong = 0
    cdef uint64_t seed = 0
    cdef Handle mine
    cdef Handle other
    cdef Resource space
    cdef uint8_t mark
    cdef uint8_t* temporary
    cdef int slot
    cdef size_t nbytes
    space.type, space.index = kTempSpace, 0
    for _ in range(_rounds):
        state = state * <uint64_t>6364136223846793005 + <uint64_t>1442695040888963407
        mark = <uint8_t>(state >> 50)
        slot = <int>((state >> 40) % N_SLOTS)
        nbytes = (state >> 20) % CHECKED_BYTES + 1
        if (state >> 45) % 32 == 0:
            nbytes <<= (state >> 58) % 14  # sizes of all arenas occur
        alloc(nbytes, kCPU, 0, &mine)
        _fill_with_mark(&mine, mark)
        _lock.lock()
        other, _shared[slot] = _shared[slot], mine
        mark, _marks[slot] = _marks[slot], mark
        _lock.unlock()
        if other.ptr != NULL:
            wrong += not _holds_mark(&other, mark)
            free(&other)
        temporary = <uint8_t*>get_space(&space, (state >> 30) % 5000 + 1)
        temporary[0] = mark
        draw_rng_streams(1, kCPU, 63, &seed)
    _lock.lock()
    global _wrong
    _wrong += wrong
    _lock.unlock()


def stress_threads(int threads, int rounds):
    """Return the number of damaged blocks (0) after threads used `rounds` blocks each."""
    global _rounds, _wrong
    cdef int i
    _rounds, _wrong = rounds, 0
    with nogil:
        cynet_run_threads(threads, _run_stress_thread)
        for i in range(N_SLOTS):
            free(&_shared[i])
    return _wrong


def seconds_per_allocation(size_t nbytes, int rounds):
    """Return the seconds that an allocation from the pool and its release take on this thread."""
    cdef Handle block
    cdef double began
    with nogil:
        alloc(nbytes, kCPU, 0, &block)
        free(&block)
        began = cynet_now()
        for _ in range(rounds):
            alloc(nbytes, kCPU, 0, &block)
            free(&block)
        began = cynet_now() - began
    return began / rounds
