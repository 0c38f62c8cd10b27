"""GPUs through pycuda: opened when first used, their memory for the pools, kernels for operators.

Importing this module imports pycuda; nothing in cynet does so before a GPU is used.
"""

import ctypes
import functools
import threading

from ..base.compat import optional
from ..base.errors import CynetError, KernelError, OutOfMemoryError
from ..context import missing_gpu_text
from ..storage import Backend, register_backend
from . import compiler, device, driver, families
from .libraries.symbols import strip_spaces
from .limits import Limits, check_launch_limits
from .transfer import copy_to_gpu

_PINNED_EVERYWHERE = 1  # CU_MEMHOSTALLOC_PORTABLE: pinned for all contexts
_MAX_THREADS, _STATIC_SHARED, _MAX_DYNAMIC_SHARED = 0, 1, 8  # CUfunction_attribute
_lock = threading.RLock()  # guards the caches of devices and modules


def _load_cuda_driver():
    """Return pycuda.driver, initialised; CynetError if pycuda or the driver is missing."""
    try:
        module = optional("pycuda.driver", "mx.gpu()")
    except CynetError as error:
        if "libcuda" in str(error):
            raise CynetError(
                "mx.gpu() needs NVIDIA's driver, and libcuda.so.1 was not found: use it on a "
                "machine with an NVIDIA GPU and its driver, or leave the context at mx.cpu()"
            ) from None
        raise
    try:
        module.init()
    except module.Error as error:
        raise CynetError(
            f"mx.gpu() needs an NVIDIA GPU, and the driver finds none ({error}); leave the context "
            "at mx.cpu()"
        ) from None
    return module


cuda = _load_cuda_driver()
driver.load_functions(ctypes.CDLL("nvcuda.dll" if hasattr(ctypes, "WinDLL") else "libcuda.so.1"))


def count_gpus():
    """Number of GPUs."""
    return cuda.Device.count()


class _OpenDevice:
    """A GPU in use: pycuda's primary context and streams, held for as long as the process lives."""

    def __init__(self, device_id):
        self.device = cuda.Device(device_id)
        self.context = self.device.retain_primary_context()
        self.context.push()
        try:
            self.streams = [cuda.Stream(1) for _ in range(4)]  # 1: CU_STREAM_NON_BLOCKING
        finally:
            self.context.pop()
        driver.add_gpu(device_id, self.context.handle, *(s.handle for s in self.streams))


_open_devices = {}  # device id -> _OpenDevice


def open_device(device_id):
    """Return GPU `device_id`, opened at the first call; CynetError if there is none."""
    found = _open_devices.get(device_id)
    if found is not None:
        return found
    with _lock:
        if device_id not in _open_devices:
            if not 0 <= device_id < count_gpus():
                raise CynetError(missing_gpu_text(device_id, count_gpus()))
            try:
                _open_devices[device_id] = _OpenDevice(device_id)
            except cuda.Error as error:
                raise CynetError(f"gpu({device_id}) cannot be opened: {error}") from None
        return _open_devices[device_id]


class _current_context:
    """Context manager: pycuda's calls in this thread go to GPU `device_id`."""

    def __init__(self, device_id):
        self.context = open_device(device_id).context

    def __enter__(self):
        self.context.push()

    def __exit__(self, *exc):
        self.context.pop()


class DeviceMemory(Backend):  # allocator of GPU memory
    """Memory of GPUs: pycuda's allocations."""

    def __init__(self):
        self.blocks = {}  # (device, address) -> DeviceAllocation

    def raw_alloc(self, nbytes, dev_id):
        with _current_context(dev_id):
            try:
                block = cuda.mem_alloc(nbytes)
            except cuda.MemoryError:
                raise OutOfMemoryError(f"the GPU has no {nbytes} bytes left") from None
        self.blocks[dev_id, int(block)] = block
        return int(block)

    def raw_free(self, address, nbytes, dev_id):
        driver.synchronize(dev_id)
        with _current_context(dev_id):
            self.blocks.pop((dev_id, address)).free()

    def memory_info(self, dev_id):
        with _current_context(dev_id):
            return cuda.mem_get_info()

    def synchronize(self, dev_id):
        driver.synchronize(dev_id)


class PinnedMemory(Backend):  # allocator of page-locked host memory
    """Host memory that every GPU copies from and to at full speed."""

    def __init__(self):
        self.blocks = {}  # address -> the NumPy array that pycuda made

    def raw_alloc(self, nbytes, dev_id):
        with _current_context(0):
            try:
                block = cuda.pagelocked_empty(nbytes, "uint8", mem_flags=_PINNED_EVERYWHERE)
            except cuda.MemoryError:
                raise OutOfMemoryError(f"the host has no {nbytes} bytes to pin") from None
        self.blocks[block.ctypes.data] = block
        return block.ctypes.data

    def raw_free(self, address, nbytes, dev_id):
        with _current_context(0):
            del self.blocks[address]

    def memory_info(self, dev_id):
        return host_memory_info()

    def synchronize(self, dev_id):
        for each in driver.opened_devices():
            driver.synchronize(each)


def host_memory_info():
    """Return (free, total) bytes of the host's memory."""
    from ..context import cpu
    from ..storage import memory_info

    return memory_info(cpu())


def _launch_limits(device_):
    """Return a GPU's launch Limits, and the shared memory of a kernel that opts in to more."""
    names, get = cuda.device_attribute, device_.get_attribute
    found = Limits(
        get(names.MAX_THREADS_PER_BLOCK),
        tuple(get(getattr(names, f"MAX_BLOCK_DIM_{axis}")) for axis in "XYZ"),
        tuple(get(getattr(names, f"MAX_GRID_DIM_{axis}")) for axis in "XYZ"),
        get(names.MAX_SHARED_MEMORY_PER_BLOCK),
    )
    return found, max(found.shared, get(names.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN))


class Kernel:
    """A kernel in a GPU's memory.

    address (int): What LaunchFn takes.
    name: str
    sizes (tuple of int, or None): Bytes of each argument; None if the driver is too old (before
        CUDA 12.4).
    threads_limit (int): Most threads of a block: what its registers and ``__launch_bounds__``
        allow.
    """

    def __init__(self, gpu, name, address):
        self.gpu, self.name, self.address = gpu, name, address
        self.sizes = driver.parameter_sizes(address)
        self.threads_limit = driver.function_attribute(address, _MAX_THREADS)
        static = driver.function_attribute(address, _STATIC_SHARED)
        self.limits = gpu.limits._replace(shared=gpu.max_shared - static)
        self._allowed = gpu.limits.shared - static

    def check_launch(self, grid, block, shared, name=None):
        """Refuse a launch that the GPU would not accept; returns (grid, block), three ints each."""
        sizes = check_launch_limits(
            name or self.name, grid, block, shared, self.threads_limit, self.limits
        )
        if shared > self._allowed:
            driver.set_function_attribute(self.address, _MAX_DYNAMIC_SHARED, shared)
            self._allowed = shared
        return sizes


class UploadedMemory:  # a buffer in a GPU's memory
    """A buffer in a GPU's memory, freed with this object: ``address``, ``nbytes``."""

    def __init__(self, device_id, data):
        from ..context import gpu
        from ..storage.block import Memory

        self.memory = Memory(max(len(data), 1), gpu(device_id))
        self.address, self.nbytes = self.memory.data_ptr, len(data)
        copy_to_gpu(device_id, self.address, data)


class GPU(device.Device):  # compiles and loads kernels for one GPU
    """The Device of a GPU, which operators use (device.py)."""

    launch_address = driver.launch_address()

    def __init__(self, device_id):
        from .workspace import read_fn_address, workspace_function_address

        self.device_id, self.name = device_id, f"gpu({device_id})"
        opened = open_device(device_id)
        self.limits, self.max_shared = _launch_limits(opened.device)
        self.multiprocessors = opened.device.get_attribute(
            cuda.device_attribute.MULTIPROCESSOR_COUNT
        )
        self.architecture = "sm_{}{}".format(*opened.device.compute_capability())
        self.workspace_function_address, self.read_fn_address = (
            workspace_function_address(),
            read_fn_address(),
        )
        self._images, self._kernels = {}, {}

    def kernel(self, source, instance):
        key = source, instance
        if key not in self._kernels:
            exports = tuple(families.kernel_instances(source))
            options = families.nvcc_options(source)
            module = self.module(families.source_text(source), f"{source}.cu", options, exports)
            self._kernels[key] = self.function(module, f"{source}.cu", instance)
        return self._kernels[key]

    def module(self, text, title, options, exports, quoted=None):
        """Compile and load a source; return (CompiledObject, LoadedModule), which are cached."""
        key = text, title, options, exports
        with _lock:
            if key not in self._images:
                compiled = compiler.compile_object(
                    text,
                    text if quoted is None else quoted,
                    title,
                    options,
                    exports,
                    self.architecture,
                )
                self._images[key] = compiled, driver.LoadedModule(self.device_id, compiled.image)
        return self._images[key]

    def function(self, module, title, name):
        """The `Kernel` of that name in the result of `module`; KernelError lists the others."""
        compiled, image = module
        symbol = compiled.symbols.get(strip_spaces(name))
        if symbol is None:
            raise KernelError(
                f"{title}: no kernel named {name!r}; it has {', '.join(sorted(compiled.symbols))}"
            )
        return Kernel(self, name, image.function(symbol))

    def upload(self, data):
        return UploadedMemory(self.device_id, bytes(data))

    def error(self, kernel, code):
        what = "a copy" if kernel is None else f"kernel {kernel.name}"
        return KernelError(f"{self.name}: {what} was refused, {driver.error_text(code)}")


@functools.cache
def gpu_device(device_id):
    """The GPU of that index, one object shared by all callers."""
    return GPU(device_id)


driver.set_gpu_opener(open_device)
register_backend("gpu", DeviceMemory())
register_backend("cpu_pinned", PinnedMemory())
device.register_devices(gpu_device)
