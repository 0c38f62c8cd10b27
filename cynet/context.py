"""Devices: Context, cpu(), gpu(), and the `with` statement that sets the current one."""

import threading

from .errors import ArgumentError, ArgumentTypeError, CynetError

_TYPES = {"cpu": 1, "gpu": 2, "cpu_pinned": 3, "cpu_shared": 5}
_NAMES = {code: name for name, code in _TYPES.items()}
_current = threading.local()


class Context:
    """A device: type and index.

    Parameters
    ----------
    device_type : str or Context
        ``'cpu'``, ``'gpu'``, ``'cpu_pinned'`` or ``'cpu_shared'``.
    device_id : int
        Index among the devices of that type.

    Examples
    --------
    >>> with Context("cpu", 1):
    ...     current_context()
    cpu(1)
    """

    __slots__ = ("device_id", "device_typeid")
    devtype2str = _NAMES
    devstr2type = _TYPES

    def __init__(self, device_type, device_id=0):
        if isinstance(device_type, Context):
            self.device_typeid, self.device_id = device_type.device_typeid, device_type.device_id
        else:
            if device_type not in _TYPES:
                raise ArgumentError(
                    f"device type {device_type!r} is not one of {', '.join(_TYPES)}"
                )
            if isinstance(device_id, bool) or not isinstance(device_id, int):
                raise ArgumentTypeError(f"device_id must be an int, got {device_id!r}")
            if device_id < 0:
                raise ArgumentError(f"device_id must not be negative, got {device_id}")
            self.device_typeid, self.device_id = _TYPES[device_type], device_id

    @property
    def device_type(self):
        """``'cpu'``, ``'gpu'``, ``'cpu_pinned'`` or ``'cpu_shared'``."""
        return _NAMES[self.device_typeid]

    def __eq__(self, other):
        return (
            isinstance(other, Context)
            and self.device_typeid == other.device_typeid
            and self.device_id == other.device_id
        )

    def __hash__(self):
        return hash((self.device_typeid, self.device_id))

    def __repr__(self):
        return f"{self.device_type}({self.device_id})"

    def __reduce__(self):
        return Context, (self.device_type, self.device_id)

    def __enter__(self):
        _current.__dict__.setdefault("outer", []).append(current_context())
        _current.value = self
        return self

    def __exit__(self, *exc):
        _current.value = _current.outer.pop()


def cpu(device_id=0):
    """The CPU. Indices are labels that let a script split work; all of them are this machine's
    cores."""
    return Context("cpu", device_id)


def cpu_pinned(device_id=0):
    """Host memory that a GPU can copy from and to at full speed."""
    return Context("cpu_pinned", device_id)


def gpu(device_id=0):
    """The GPU of that index. Making one needs no driver; using it does."""
    return Context("gpu", device_id)


_memory_info = {}  # device type -> its backend's memory_info(device_id)


def install_memory_info(device_type, function):
    """Take ``function(device_id)`` -> (free, total) bytes; storage calls this for each backend."""
    _memory_info[device_type] = function


def no_gpu(device_id):
    """Why a GPU cannot be used, one sentence."""
    return (
        f"gpu({device_id}) cannot be used: this version of cynet has no backend for GPUs, so leave "
        "the context at mx.cpu(), where CUDA kernels of mx.rtc run, too"
    )


def num_gpus():
    """Number of GPUs that arrays can be put on, an int.

    0 where no backend is registered for them (`mx.storage.register_backend`), as in cynet alone.

    Examples
    --------
    >>> ctx = gpu() if num_gpus() else cpu()
    """
    count, info = 0, _memory_info.get("gpu")
    while info is not None:
        try:
            info(count)
        except CynetError:
            break
        count += 1
    return count


def gpu_memory_info(device_id=0):
    """(free, total) bytes of a GPU.

    Raises
    ------
    CynetError
        When there is no such GPU, or none can be used.
    """
    if "gpu" not in _memory_info:
        raise CynetError(no_gpu(device_id))
    return _memory_info["gpu"](device_id)


_DEFAULT = cpu(0)


def current_context():
    """The innermost ``with Context`` of this thread, else ``cpu(0)``."""
    return getattr(_current, "value", _DEFAULT)
