"""Types of all compiled code: codes of devices, dtypes and requests, TBlob, RunContext.

The numbers are MXNet's own type flags and device codes, so that files need no translation.
"""

from libc.stdint cimport int64_t

cdef enum:
    MAX_NDIM = 8  # maximum number of axes, so that a TBlob has a fixed size

cdef enum DType:  # codes of element types
    kFloat32 = 0
    kFloat64 = 1
    kFloat16 = 2
    kUint8 = 3
    kInt32 = 4
    kInt8 = 5
    kInt64 = 6
    kBool = 7
    kBfloat16 = 12

cdef enum OpReq:  # how an operator writes an output
    kNullOp = 0        # write nothing
    kWriteTo = 1       # overwrite the output
    kWriteInplace = 2  # overwrite an input: output and input share memory
    kAddTo = 3         # add to the output

cdef enum DeviceType:  # codes of devices
    kCPU = 1
    kGPU = 2
    kCPUPinned = 3
    kCPUShared = 5

cdef struct TBlob:  # a contiguous tensor in memory of somebody else
    # A contiguous (row-major) tensor; the memory belongs to someone else. data == NULL: not given.
    void* data
    int64_t shape[8]
    int64_t size  # number of elements
    int ndim
    int dtype     # DType
    int dev_type  # DeviceType
    int dev_id

cdef struct RunContext:  # device and stream of a function that the engine runs
    # The device where a function pushed to the engine runs; valid while the function runs.
    int dev_type
    int dev_id
    void* stream  # the device's stream (a CUstream on a GPU), NULL on the CPU
    int worker    # index of the worker; 0 is the thread that pushed

cdef inline size_t dtype_size(int dtype) noexcept nogil:
    """Return the bytes of one element; 0 for a code that is not a DType."""
    if dtype == kFloat32 or dtype == kInt32:
        return 4
    if dtype == kFloat64 or dtype == kInt64:
        return 8
    if dtype == kFloat16 or dtype == kBfloat16:
        return 2
    if dtype == kUint8 or dtype == kInt8 or dtype == kBool:
        return 1
    return 0


cdef inline int64_t aligned(int64_t nbytes) noexcept nogil:  # rounded up to 64
    # Round `nbytes` up to a multiple of a cache line, where the next piece of a workspace begins.
    return (nbytes + 63) // 64 * 64
