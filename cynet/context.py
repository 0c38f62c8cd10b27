"""Devices: Context, cpu(), gpu(), and the `with` statement that sets the current one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from .base.errors import ArgumentError, ArgumentTypeError, CynetError, shown
from .base.guard import guarded
from .base.kinds import to_index

if TYPE_CHECKING:
    from .typing import ContextLike

__all__ = ["Context", "cpu", "cpu_pinned", "current_context", "gpu", "gpu_memory_info", "num_gpus"]

_CODE_OF_TYPE = {"cpu": 1, "gpu": 2, "cpu_pinned": 3, "cpu_shared": 5}
_TYPE_OF_CODE = {code: name for name, code in _CODE_OF_TYPE.items()}


class _ContextType(type):
    """Metaclass of Context, for `default_ctx`: the context of the innermost ``with``."""

    @property
    def default_ctx(cls) -> Context:
        """The current context; setting it changes it for the calling thread."""
        return current_context()

    @default_ctx.setter
    def default_ctx(cls, ctx: Context) -> None:
        if not isinstance(ctx, Context):
            raise ArgumentTypeError(f"Context.default_ctx must be a Context, got {shown(ctx)}")
        _current.value = ctx


class Context(metaclass=_ContextType):
    """A device: type and index.

    ``with ctx:`` makes it the current one of this thread, on which arrays are made.

    Parameters
    ----------
    device_type : str or Context
        ``'cpu'``, ``'gpu'``, ``'cpu_pinned'`` or ``'cpu_shared'``; or a Context, which is copied.
    device_id : int
        Index among the devices of that type.

    Raises
    ------
    ArgumentTypeError
        If the type is not a str or the index no int.
    ArgumentError
        If there is no such type, or the index is negative or too large.

    Examples
    --------
    >>> with mx.Context("cpu", 1) as ctx:
    ...     mx.nd.zeros((2,)).context, ctx.device_type, ctx.device_id
    (cpu(1), 'cpu', 1)
    >>> mx.Context("tpu")
    Traceback (most recent call last):
        ...
    cynet.errors.ArgumentError: device type 'tpu' is not one of cpu, gpu, cpu_pinned, cpu_shared
    """

    __slots__ = ("device_id", "device_typeid")
    devtype2str = _TYPE_OF_CODE
    devstr2type = _CODE_OF_TYPE

    def __init__(self, device_type: str | Context, device_id: int = 0) -> None:
        if isinstance(device_type, Context):
            self.device_typeid, self.device_id = device_type.device_typeid, device_type.device_id
        else:
            if not isinstance(device_type, str):
                names, found = ", ".join(_CODE_OF_TYPE), shown(device_type)
                raise ArgumentTypeError(f"a device type is a str, one of {names}; got {found}")
            if device_type not in _CODE_OF_TYPE:
                raise ArgumentError(
                    f"device type {shown(device_type)} is not one of {', '.join(_CODE_OF_TYPE)}"
                )
            device_id = to_index("device_id", device_id)
            if device_id < 0:
                raise ArgumentError(f"device_id must not be negative, got {shown(device_id)}")
            if device_id >= 1 << 31:
                raise ArgumentError(f"device_id must be below 2**31, got {shown(device_id)}")
            self.device_typeid, self.device_id = _CODE_OF_TYPE[device_type], device_id

    @property
    def device_type(self) -> str:
        """``'cpu'``, ``'gpu'``, ``'cpu_pinned'`` or ``'cpu_shared'``."""
        return _TYPE_OF_CODE[self.device_typeid]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Context)
            and self.device_typeid == other.device_typeid
            and self.device_id == other.device_id
        )

    def __hash__(self) -> int:
        return hash((self.device_typeid, self.device_id))

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def __reduce__(self):
        return Context, (self.device_type, self.device_id)

    def __enter__(self) -> Context:
        _current.__dict__.setdefault("outer", []).append(current_context())
        _current.value = self
        return self

    def __exit__(self, *exc: Any) -> None:
        _current.value = _current.outer.pop()

    def empty_cache(self) -> None:
        """Return unused cached memory to the device.

        See ``mx.storage.empty_cache``.

        Examples
        --------
        >>> mx.nd.zeros((1000, 1000)).wait_to_read()
        >>> mx.cpu().empty_cache()
        """
        from ._storage import empty_cache

        empty_cache(self)


def cpu(device_id: int = 0) -> Context:
    """Name the CPU. Indices are labels that let a script split work.

    Parameters
    ----------
    device_id : int
        Any index; all of them mean this machine's cores.

    Examples
    --------
    >>> mx.nd.zeros(2, ctx=mx.cpu()).context
    cpu(0)
    """
    return Context("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Context:
    """Name host memory that a GPU can copy from and to at full speed.

    Parameters
    ----------
    device_id : int
        Index of the GPU.

    Examples
    --------
    >>> mx.cpu_pinned()
    cpu_pinned(0)
    """
    return Context("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Context:
    """Name a GPU. Making the Context needs no driver; using it does.

    Parameters
    ----------
    device_id : int
        Index of the GPU.

    Examples
    --------
    >>> mx.gpu(1).device_type, mx.gpu(1).device_id
    ('gpu', 1)
    """
    return Context("gpu", device_id)


_gpu_backend = None  # the module of the backend for GPUs, or the error text of its import


def load_gpu_backend():
    """Load cynet's backend for GPUs, unless another package has registered one.

    Raises CynetError: one sentence: what is missing here, and how to get it.
    """
    global _gpu_backend
    if _gpu_backend is None and _gpu_allocator() is None:
        try:
            from .cuda import backend

            _gpu_backend = backend
        except CynetError as error:
            # the error itself would keep alive the frames that it passed, and their arrays
            _gpu_backend = str(error)
    if isinstance(_gpu_backend, str):
        raise CynetError(_gpu_backend)


def _gpu_allocator():
    """Return the storage Backend of GPUs, or None."""
    from ._storage import backend_of

    return backend_of("gpu")


def missing_gpu_text(device_id, count):
    """Return the text of the error for a GPU that does not exist."""
    there = f"gpu(0) to gpu({count - 1})" if count > 1 else "gpu(0)"
    return f"gpu({device_id}) does not exist: this machine has {there if count else 'no GPU'}"


def num_gpus() -> int:
    """Count the GPUs that arrays can be put on; 0 if pycuda, the driver or a GPU is missing.

    Examples
    --------
    >>> ctx = mx.gpu() if mx.context.num_gpus() else mx.cpu()
    """
    try:
        load_gpu_backend()
    except CynetError:
        return 0
    if _gpu_backend is not None:
        return _gpu_backend.count_gpus()
    count = 0  # a backend that another package registered
    while True:
        try:
            _gpu_allocator().memory_info(count)
        except CynetError:
            return count
        count += 1


@guarded
def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Return the memory of a GPU in bytes: (free, total).

    Parameters
    ----------
    device_id : int
        Index of the GPU.

    Raises
    ------
    CynetError
        If there is no such GPU, or none can be used.

    Examples
    --------
    >>> if mx.context.num_gpus():
    ...     free, total = mx.context.gpu_memory_info(0)
    """
    load_gpu_backend()
    return _gpu_allocator().memory_info(device_id)


class _CurrentContext(threading.local):
    value = cpu(0)  # the default of every thread, until a ``with`` sets another one


_current = _CurrentContext()  # the Context of each thread


def current_context() -> Context:
    """Return the context of the innermost ``with`` statement of this thread, else ``cpu(0)``.

    Examples
    --------
    >>> with mx.cpu(1):
    ...     mx.current_context()
    cpu(1)
    """
    return _current.value


def read_context(ctx: ContextLike | None) -> Context:
    """Return a Context from a Context, None (the current one) or a text, ``'cpu(0)'``."""
    if ctx is None:
        return current_context()
    if isinstance(ctx, Context):
        return ctx
    if isinstance(ctx, str):
        kind, _, index = ctx.partition("(")
        index = index.rstrip(")") or "0"
        if kind in Context.devstr2type and index.isdecimal() and len(index) < 20:
            return Context(kind, int(index))
        raise ArgumentError(f"ctx: {shown(ctx)} names no device; expected for example 'cpu(0)'")
    raise ArgumentTypeError(f"ctx must be a Context, got {shown(ctx)}")
