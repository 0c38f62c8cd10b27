"""The interface between native code and a device that runs kernels: types of C functions, whose
addresses are attributes of a Device (device.py).

All are called on the thread that runs the operator, without the GIL. `stream` is
RunContext.stream: work put on it runs in order, and none of these waits for it but ReadFn.
"""

from libc.stdint cimport int64_t

# Queues one kernel launch on the stream. `params` has the address of each argument's value. 0, or a
# code that device.error explains.
ctypedef int (*LaunchFn)(void* kernel, const unsigned* grid, const unsigned* block,
                         unsigned shared, void* stream, void** params) noexcept nogil
# Temporary memory on the device, 64-byte aligned, for work put on the stream before the operator
# returns; `index` tells buffers apart. NULL with an exception set if memory is exhausted.
ctypedef void* (*SpaceFn)(int dev_id, int index, size_t nbytes, void* stream) except? NULL nogil
# Copies nbytes from the device to the host after all work queued on the stream, and waits for it.
# 0, or a code as above.
ctypedef int (*ReadFn)(void* to, const void* source, size_t nbytes, void* stream) noexcept nogil
# Sets the array sizes of this thread's next launch: bytes of an array argument, -1 for a value.
ctypedef void (*SizesFn)(const int64_t* sizes) noexcept nogil
