# distutils: extra_compile_args = -Os
"""Kernel launches as functions of the engine, which orders them by the arrays they use.

A launch is one block of memory: the request that the emulator's `cynet_launch` takes, the values
of the arguments, and what an error has to say. It runs without the GIL.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from .._engine cimport VarHandle, kInline, kNormal, push_sync
from ..engine.native cimport now_ns
from ..engine.inline cimport MAX_INLINE_SEGMENT_US
from ..ndarray._tape cimport n_flagged, refuse_write
from .._ndarray cimport Chunk, NDArrayBase
from .._typedefs cimport RunContext, dtype_size, kCPU, kGPU
from ..cuda._launch cimport FAILURE_BYTES, THREAD_WORK, EntryFn, LaunchRequest
from ..cuda.driver cimport launch
from ..kernels.parallel cimport threads_for

from ..base.errors import ArgumentTypeError, OutOfMemoryError, wrap_error, user_frame

cdef enum:
    MAX_VALUE_BYTES = 64  # limit of an argument that is not an array
    MAX_FILE_NAME_BYTES = 240  # longer file names are cut in messages
    # A launch on arrays of at most this size runs on the caller's thread, a larger one if it is
    # expected to take at most MAX_INLINE_SEGMENT_US.
    INLINE_BYTES = 1 << 16  # larger launches run on a worker unless they are quick

cdef union ArgumentValue:  # pointer or bytes of a value
    void* pointer
    char bytes[MAX_VALUE_BYTES]

cdef struct LaunchArgument:  # argument of a launch
    ArgumentValue value
    Chunk* chunk  # NULL: no array
    bint written

cdef struct LaunchTask:  # one launch of a kernel
    EntryFn function
    int index    # index of the kernel in its object
    int kernel   # index of the Python kernel in _kernels
    int count
    int line
    char file[MAX_FILE_NAME_BYTES]
    int64_t work
    double* pace  # nanoseconds per unit of work in the last launch; 0 before the first
    LaunchRequest request
    char failure[FAILURE_BYTES]
    LaunchArgument* arguments
    void** values
    int64_t* sizes
    # kernel handle for `launch` on a GPU, which does not use the emulator's fields
    void* device_kernel

# Kernels and their names; a launch refers to its kernel by an index into both.
cdef list _kernels = []  # registered kernels, by index
cdef list _kernel_names = []  # their names
cdef list _pace_addresses = []  # of the kernels' paces, as int


def register_kernel(kernel, str name):
    """Store `kernel` for the rest of the process; return its index, which launches use.

    Its method ``launch_error(failure)`` makes the exception of a launch that failed, from the
    bytes of the emulator's Failure; ``refusal_error(code)`` from what a GPU's driver answered.
    """
    cdef double* pace = <double*>calloc(1, sizeof(double))
    if pace == NULL:
        raise OutOfMemoryError("no memory for the arguments of a kernel")
    _kernel_names.append(name.encode())
    _pace_addresses.append(<size_t>pace)
    _kernels.append(kernel)
    return len(_kernels) - 1


cdef int _run_on_emulator(void* arg, RunContext* context) except -1 nogil:
    cdef LaunchTask* task = <LaunchTask*>arg
    cdef int i
    cdef int64_t begin = now_ns()
    task.request.threads = threads_for(task.work)
    if task.function(task.index, &task.request) != 0:
        with gil:
            _raise_kernel_error(task)
    task.pace[0] = <double>(now_ns() - begin) / <double>task.work
    for i in range(task.count):
        if task.arguments[i].written:
            task.arguments[i].chunk.written = True
    return 0


cdef int _run_on_device(void* arg, RunContext* context) except -1 nogil:
    cdef LaunchTask* task = <LaunchTask*>arg
    cdef int code = launch(task.device_kernel, task.request.grid, task.request.block,
                           <unsigned>task.request.shared, context.stream, task.values)
    cdef int i
    if code != 0:
        with gil:
            _raise_driver_error(task, code)
    for i in range(task.count):
        if task.arguments[i].written:
            task.arguments[i].chunk.written = True
    return 0


cdef int _raise_driver_error(LaunchTask* task, int code) except -1:
    error = _kernels[task.kernel].refusal_error(code)
    file = task.file.decode(errors="replace")
    raise wrap_error(error, f"{error}\n  [launched at {file}:{task.line}]")


cdef int _raise_kernel_error(LaunchTask* task) except -1:
    error = _kernels[task.kernel].launch_error(task.failure[:FAILURE_BYTES])
    file = task.file.decode(errors="replace")
    raise wrap_error(error, f"{error}\n  [launched at {file}:{task.line}]")


cdef void _free_task(void* arg) noexcept nogil:
    free(arg)


def push_kernel(int kernel, size_t function, int index, tuple arguments, tuple written, tuple grid,
                tuple block, uint64_t shared, int gpu=-1):
    """Push a launch of a kernel, in the emulator or on a GPU, to the engine.

    kernel (int): What `register_kernel` gave.
    function (int): Address of the object's ``cynet_launch``; on a GPU the kernel's handle.
    index (int): The kernel's index in the object.
    arguments (tuple): An NDArray, or the bytes of a value, for each argument.
    written (tuple of bool): Whether the kernel writes that array.
    grid, block: tuple of 3 ints
    shared (int): Bytes of dynamic shared memory.
    gpu (int): Index of the GPU, or -1: the emulator.
    """
    cdef int n = <int>len(arguments), i, k, n_read = 0, n_written = 0
    cdef size_t each = sizeof(LaunchArgument) + sizeof(void*) + sizeof(int64_t)
    cdef size_t total = sizeof(LaunchTask) + n * each
    cdef int64_t touched = 0
    cdef NDArrayBase array
    cdef bytes value
    cdef bint quick
    cdef VarHandle* variables
    cdef LaunchTask* task = <LaunchTask*>malloc(total + 2 * n * sizeof(VarHandle))
    if task == NULL:
        raise OutOfMemoryError("no memory for the arguments of a kernel")
    memset(task, 0, sizeof(LaunchTask))
    task.arguments = <LaunchArgument*>(task + 1)
    task.values = <void**>(task.arguments + n)
    task.sizes = <int64_t*>(task.values + n)
    variables = <VarHandle*>(task.sizes + n)  # written arrays first, then read arrays
    try:
        for i in range(n):
            task.values[i] = &task.arguments[i].value
            task.arguments[i].chunk = NULL
            task.arguments[i].written = False
            task.sizes[i] = -1
            if isinstance(arguments[i], NDArrayBase):
                array = <NDArrayBase>arguments[i]
                if written[i] and n_flagged:
                    refuse_write(array)
                task.arguments[i].value.pointer = array.blob.data
                task.arguments[i].chunk = array.chunk
                task.arguments[i].written = written[i]
                task.sizes[i] = array.blob.size * <int64_t>dtype_size(array.blob.dtype)
                touched += task.sizes[i]
            else:
                value = arguments[i]
                if len(value) > MAX_VALUE_BYTES:
                    raise ArgumentTypeError(
                        f"{_kernel_names[kernel].decode()}: argument {i + 1} has {len(value)} "
                        f"bytes, at most {MAX_VALUE_BYTES} are taken")
                memcpy(&task.arguments[i].value, <const char*>value, len(value))
        for i in range(n):
            if task.arguments[i].written:
                n_written = _add_var_once(variables, n_written, 0, task.arguments[i].chunk.var)
        for i in range(n):
            if task.arguments[i].chunk != NULL and not task.arguments[i].written:
                n_read = _add_var_once(variables, n_written + n_read, 0,
                                       task.arguments[i].chunk.var) - n_written
        for k in range(3):
            task.request.grid[k] = grid[k]
            task.request.block[k] = block[k]
        task.function = <EntryFn>function
        task.device_kernel = <void*>function
        task.index = index
        task.kernel = kernel
        task.count = n
        task.request.values = task.values
        task.request.bytes = task.sizes
        task.request.shared = shared
        task.request.failure = task.failure
        task.work = THREAD_WORK
        for k in range(3):
            task.work *= <int64_t>grid[k] * <int64_t>block[k]
            if task.work > 1 << 40:
                task.work = 1 << 40
        task.work = max(task.work, touched // 4)  # one thread may process a whole row
        task.pace = <double*><size_t>_pace_addresses[kernel]
        quick = task.pace[0] > 0 and task.pace[0] * <double>task.work < 1e3 * MAX_INLINE_SEGMENT_US
        file, task.line = user_frame()
        value = file.encode(errors="replace")[-(MAX_FILE_NAME_BYTES - 1):]
        memcpy(task.file, <const char*>value, len(value))
        value = _kernel_names[kernel]
        _push_launch(task, variables, n_written, n_read,
                     kInline if touched <= INLINE_BYTES or quick or gpu >= 0 else kNormal, value,
                     gpu)
    except BaseException:
        free(task)
        raise


cdef int _push_launch(LaunchTask* task, VarHandle* variables, int n_written, int n_read, int flags,
                      const char* name, int gpu) except -1:
    with nogil:
        if gpu >= 0:
            push_sync(_run_on_device, task, _free_task, kGPU, gpu, variables + n_written, n_read,
                      variables, n_written, 0, flags, name)
        else:
            push_sync(_run_on_emulator, task, _free_task, kCPU, 0, variables + n_written, n_read,
                      variables, n_written, 0, flags, name)
    return 0


cdef int _add_var_once(VarHandle* variables, int n, int start, VarHandle var) noexcept:
    # Append a variable unless it is there; return the new count.
    cdef int i
    for i in range(start, n):
        if variables[i] == var:
            return n
    variables[n] = var
    return n + 1
