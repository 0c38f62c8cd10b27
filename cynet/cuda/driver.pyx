"""The driver's functions by name, and entering a GPU (contract in driver.pxd)."""

from ..engine.threads cimport EnterDevice, set_enter_device_fn

import ctypes

from ..base.errors import CynetError

cdef extern from *:
    """
    #if defined(_WIN32)
    static int cynet_child_of_cuda = 0;
    static void cynet_watch_forks(void) {}
    #else
    #include <pthread.h>
    // 1 in a child of a process that had opened a GPU: no function of the driver works there.
    static int cynet_child_of_cuda = 0;
    static void cynet_note_fork(void) { cynet_child_of_cuda = 1; }
    static void cynet_watch_forks(void) { pthread_atfork(NULL, NULL, cynet_note_fork); }
    #endif
    """
    int forked "cynet_child_of_cuda"
    void watch_forks "cynet_watch_forks" ()

_FUNCTION_NAMES = (
    "cuCtxSetCurrent", "cuGetErrorName", "cuGetErrorString", "cuModuleLoadData",
    "cuModuleGetFunction", "cuFuncGetAttribute", "cuFuncSetAttribute", "cuLaunchKernel",
    "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemcpyPeerAsync",
    "cuMemsetD8Async", "cuMemsetD16Async", "cuMemsetD32Async", "cuEventCreate",
    "cuEventDestroy_v2", "cuEventRecord", "cuEventSynchronize", "cuStreamWaitEvent",
    "cuStreamSynchronize", "cuStreamBeginCapture_v2", "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuGraphDestroy", "cuGraphExecDestroy",
)

cdef enum:
    NO_TIMING = 2  # CU_EVENT_DISABLE_TIMING

# CUDA 12.4 and later have this function
ctypedef int (*ParameterInfo)(void* function, size_t index, size_t* offset,
                              size_t* size) noexcept nogil
cdef ParameterInfo _parameter_info = NULL  # cuFuncGetParamInfo, if the driver has it
cdef object _gpu_opener = None  # function that opens a GPU by its index


def load_functions(library):
    """Look up the driver's functions in `library`, a ctypes.CDLL.

    Raises CynetError when it lacks one.
    """
    global _parameter_info
    cdef void** slots = <void**>&driver
    for i, name in enumerate(_FUNCTION_NAMES):
        try:
            function = getattr(library, name)
        except AttributeError:
            raise CynetError(
                f"NVIDIA's driver ({library._name}) has no function {name}: it is too old; cynet "
                "needs one of CUDA 12 or later") from None
        slots[i] = <void*><size_t>ctypes.cast(function, ctypes.c_void_p).value
    function = getattr(library, "cuFuncGetParamInfo", None)
    if function is not None:
        _parameter_info = <ParameterInfo><size_t>ctypes.cast(function, ctypes.c_void_p).value


def parameter_sizes(size_t function):
    """Return the bytes of each argument of a kernel; None if the driver is too old to report it."""
    cdef size_t offset, size
    sizes = []
    if _parameter_info == NULL:
        return None
    while _parameter_info(<void*>function, len(sizes), &offset, &size) == 0:
        sizes.append(size)
    return tuple(sizes)


def set_gpu_opener(opener):
    """Register ``opener(device_id)``, called at the first use of each GPU; it calls `add_gpu`."""
    global _gpu_opener
    _gpu_opener = opener
    watch_forks()
    set_enter_device_fn(<EnterDevice>enter_gpu)


def add_gpu(int dev_id, size_t context, size_t stream, size_t in_stream, size_t out_stream,
            size_t side_stream):
    """Register a GPU by the handles of its context and streams."""
    cdef OpenGpu* gpu = &gpus[dev_id]
    gpu.context, gpu.stream = <void*>context, <void*>stream
    gpu.in_stream, gpu.out_stream = <void*>in_stream, <void*>out_stream
    gpu.side_stream = <void*>side_stream
    opened[dev_id].store(True)


cdef int _open_device(int dev_id) except -1 with gil:
    if _gpu_opener is None:
        raise CynetError(f"gpu({dev_id}): the backend for GPUs is not loaded")
    _gpu_opener(dev_id)
    return 0


cdef int _refuse_forked_process(int dev_id) except -1 with gil:
    raise CynetError(
        f"gpu({dev_id}) cannot be used in a process forked from one that used a GPU: start it by "
        "multiprocessing's method 'spawn'")


cdef int enter_gpu(int dev_id, void** stream) except -1 nogil:
    if forked:
        _refuse_forked_process(dev_id)
    if dev_id < 0 or dev_id >= MAX_DEVICES or not opened[dev_id].load():
        _open_device(dev_id)
    check(driver.set_current(gpus[dev_id].context), dev_id, b"entering its context")
    if stream != NULL:
        stream[0] = gpus[dev_id].stream
    return 0


cdef int launch(void* kernel, const unsigned* grid, const unsigned* block, unsigned shared,
                void* stream, void** params) noexcept nogil:
    return driver.launch(kernel, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared,
                         stream, params, NULL)


def launch_address():
    """Address of `launch`, a LaunchFn."""
    return <size_t>&launch


def error_text(int code):
    """The driver's text for an error code, as ``NAME: sentence``."""
    cdef const char* name = NULL
    cdef const char* text = NULL
    if driver.error_name == NULL or driver.error_name(code, &name) != 0 or name == NULL:
        return f"code {code}"
    driver.error_string(code, &text)
    return f"{name.decode()}: {text.decode() if text != NULL else 'no more is known'}"


cdef int _raise_error(int code, int dev_id, const char* what) except -1 with gil:
    raise CynetError(f"gpu({dev_id}): {what.decode()} failed, {error_text(code)}")


cdef int check(int code, int dev_id, const char* what) except -1 nogil:  # raises the driver's error
    if code != 0:
        _raise_error(code, dev_id, what)
    return 0


cdef void* new_event(int dev_id) except NULL nogil:
    cdef void* event = NULL
    check(driver.event_create(&event, NO_TIMING), dev_id, b"making an event")
    return event


def synchronize(int dev_id):
    """Wait until a GPU has finished all work on its streams; raise its error if one failed."""
    cdef OpenGpu* gpu = &gpus[dev_id]
    with nogil:
        enter_gpu(dev_id, NULL)
        check(driver.stream_synchronize(gpu.in_stream), dev_id, b"work on it")
        check(driver.stream_synchronize(gpu.stream), dev_id, b"work on it")
        check(driver.stream_synchronize(gpu.out_stream), dev_id, b"work on it")


def opened_devices():
    """Indices of the GPUs in use."""
    return [i for i in range(MAX_DEVICES) if opened[i].load()]


class KernelMissing(CynetError):
    """Raised when a compiled object has no kernel of a name."""


cdef class LoadedModule:
    """A compiled object in a GPU's context, for as long as the process lives."""

    cdef void* module
    cdef readonly int dev_id

    def __init__(self, int dev_id, bytes image):
        cdef const char* data = image
        self.dev_id = dev_id
        enter_gpu(dev_id, NULL)
        check(driver.module_load(&self.module, data), dev_id, b"loading a compiled kernel")

    def function(self, str symbol):
        """The handle of the kernel `symbol`, an int."""
        cdef void* function = NULL
        cdef bytes name = symbol.encode()
        enter_gpu(self.dev_id, NULL)
        if driver.module_function(&function, self.module, name) != 0:
            raise KernelMissing(f"a compiled object has no kernel named {symbol}")
        return <size_t>function


def function_attribute(size_t function, int attribute):
    """The value of a kernel's `attribute`, a CUfunction_attribute."""
    cdef int value = 0
    check(driver.function_attribute(&value, attribute, <void*>function), 0, b"asking for a limit")
    return value


def set_function_attribute(size_t function, int attribute, int value):
    """Set the value of a kernel's `attribute`, a CUfunction_attribute."""
    check(driver.set_function_attribute(<void*>function, attribute, value), 0, b"setting a limit")
