"""Calling convention of the emulator's compiled objects (cynet_cuda_cpu/include/cynet_launch.h)."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef enum:
    FAILURE_BYTES = 512  # at least the size of the emulator's Failure
    THREAD_WORK = 64     # a kernel thread costs as much as this many loop elements

cdef struct LaunchRequest:  # the emulator's Launch
    void** values
    const int64_t* bytes
    uint32_t grid[3]
    uint32_t block[3]
    uint64_t shared
    int32_t threads
    void* failure

ctypedef int (*EntryFn)(int index, const LaunchRequest* request) noexcept nogil
