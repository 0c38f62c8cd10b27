"""A device in host memory: kernels run in the emulator, through the interface of a GPU's.

It runs every GPU form of an operator on a machine without a GPU (tests/operator/cuda).
"""

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from cynet._resource cimport Resource, get_space, kTempSpace
from cynet.kernels.parallel cimport threads_for
from cynet.cuda._device cimport LaunchFn, ReadFn, SizesFn, SpaceFn
from cynet.cuda._launch cimport FAILURE_BYTES, THREAD_WORK, EntryFn, LaunchRequest

from cynet.base import config
from cynet.storage.block import Memory
from cynet.context import Context
from cynet.base.errors import KernelError
from cynet.cuda import families
from cynet.cuda.device import Device
from .module import EmulatedModule, Failure

cdef extern from *:
    """
    // sizes of the arrays of this thread's next launch
    static thread_local const int64_t* cynet_sizes = 0;
    """
    const int64_t* noted_sizes "cynet_sizes"

BFLOAT16 = "cynet::bfloat16"  # C++ type of bfloat16

cdef struct LoadedEntry:  # a kernel and its last failure
    EntryFn function
    int index
    char failure[FAILURE_BYTES]  # message of the last launch that failed


cdef int _launch(void* kernel, const unsigned* grid, const unsigned* block, unsigned shared,
                 void* stream, void** params) noexcept nogil:
    cdef LoadedEntry* loaded = <LoadedEntry*>kernel
    cdef char failure[FAILURE_BYTES]
    cdef LaunchRequest request
    cdef int64_t work = THREAD_WORK
    cdef int i, code
    for i in range(3):
        request.grid[i], request.block[i] = grid[i], block[i]
        work *= <int64_t>grid[i] * block[i]
    request.values, request.bytes = params, noted_sizes
    request.shared, request.threads, request.failure = shared, threads_for(work), failure
    code = loaded.function(loaded.index, &request)
    if code != 0:
        memcpy(loaded.failure, failure, FAILURE_BYTES)
    return code


cdef void* _get_workspace(int dev_id, int index, size_t nbytes, void* stream) except? NULL nogil:
    cdef Resource resource
    resource.type, resource.index = kTempSpace, index
    return get_space(&resource, nbytes)


cdef int _read_memory(void* to, const void* source, size_t nbytes, void* stream) noexcept nogil:
    memcpy(to, source, nbytes)
    return 0


cdef void _note_array_sizes(const int64_t* sizes) noexcept nogil:
    global noted_sizes
    noted_sizes = sizes


cdef class LoadedKernel:
    """One kernel of the device: `address`, `name`, `sizes` (device.py)."""

    cdef LoadedEntry* loaded
    cdef readonly str name
    cdef readonly tuple sizes
    cdef object kernel

    def __cinit__(self):
        self.loaded = <LoadedEntry*>malloc(sizeof(LoadedEntry))
        if self.loaded == NULL:
            raise MemoryError()
        memset(self.loaded, 0, sizeof(LoadedEntry))

    def __init__(self, kernel):
        self.kernel, self.name = kernel, kernel.name
        self.sizes = tuple([p.size for p in kernel.parameters])
        self.loaded.function = <EntryFn><size_t>kernel.module.launch_address
        self.loaded.index = kernel.index

    def __dealloc__(self):
        free(self.loaded)

    @property
    def address(self):
        return <size_t>self.loaded

    def error(self):
        """The error of the last launch that failed."""
        return self.kernel.error(Failure.from_buffer_copy(self.loaded.failure[:FAILURE_BYTES]))


class HostMemory:  # bytes in host memory
    """Bytes in host memory: `address`, `nbytes`."""

    def __init__(self, data):
        self.memory = Memory(max(len(data), 1), Context("cpu"))
        view = memoryview(self.memory).cast("B")
        view[: len(data)] = data
        self.address, self.nbytes = self.memory.data_ptr, len(data)


class EmulatedDevice(Device):  # runs CUDA kernels on the CPU
    """Kernels of ``cuda/kernels/`` in the emulator, on arrays in host memory.

    Parameters
    ----------
    checked : bool, optional
        The checking mode; by default what CYNET_CHECK_KERNELS says.
    """

    name = "the emulated device"
    multiprocessors = 16
    launch_address = <size_t><LaunchFn>_launch
    workspace_function_address = <size_t><SpaceFn>_get_workspace
    read_fn_address = <size_t><ReadFn>_read_memory

    def __init__(self, checked=None):
        self.checked = bool(config.get("CYNET_CHECK_KERNELS")) if checked is None else checked
        self.sizes_address = <size_t><SizesFn>_note_array_sizes if self.checked else 0
        self._modules, self._kernels = {}, {}

    def kernel(self, source, instance):  # the LoadedKernel of an instance
        found = self._kernels.get((source, instance))
        if found is None:
            found = self._kernels[source, instance] = LoadedKernel(
                self.module(source, BFLOAT16 in instance).get(instance))
        return found

    def module(self, source, bfloat16=False):
        """The EmulatedModule of a source, with its instances of bfloat16, compiled apart, or all
        others."""
        key = source, bfloat16
        if key not in self._modules:
            exports = [i for i in families.kernel_instances(source) if (BFLOAT16 in i) == bfloat16]
            options = ["-ffp-contract=off", "-Og"] if families.must_match_cpu(source) else ["-Og"]
            self._modules[key] = EmulatedModule(
                families.source_text(source), f"{source}.cu", options, exports, self.checked)
        return self._modules[key]

    def upload(self, data):  # copies bytes to the device
        return HostMemory(bytes(data))

    def error(self, kernel, code):  # error of a failed launch or copy
        if kernel is None:
            return KernelError(f"{self.name}: copying failed with code {code}")
        return kernel.error()
