"""mx.util: small helpers that scripts import; of the switches of ``mx.np`` that of shapes."""

import functools
import os

from .base.config import getenv, setenv
from .base.errors import ArgumentTypeError, CynetError, shown
from .base.guard import guarded
from .base.np_shape import is_np_shape, switch
from .context import gpu_memory_info, num_gpus
from .operator.checks.values import whole_number

__all__ = [
    "get_gpu_count",
    "get_gpu_memory",
    "getenv",
    "is_np_array",
    "is_np_shape",
    "makedirs",
    "np_array",
    "np_shape",
    "reset_np",
    "set_module",
    "set_np",
    "set_np_shape",
    "setenv",
    "use_np",
    "use_np_array",
    "use_np_shape",
    "wraps_safely",
]


@guarded
def makedirs(d: str) -> None:
    """Make a folder, and those it is in, unless it is there."""
    os.makedirs(os.path.expanduser(d), exist_ok=True)


def get_gpu_count() -> int:
    """The number of GPUs."""
    return num_gpus()


@guarded
def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """(free, total) bytes of a GPU."""
    return gpu_memory_info(gpu_dev_id)


@guarded
def set_module(module: str):
    """A decorator that says from where users import a function or class.

    >>> @set_module("mine")
    ... def f(): pass
    >>> f.__module__
    'mine'
    """

    def wrap(made):
        made.__module__ = module
        return made

    return wrap


def wraps_safely(wrapped, assigned=functools.WRAPPER_ASSIGNMENTS):
    """``functools.wraps``, also of what lacks some of these attributes."""
    return functools.wraps(wrapped, assigned=assigned)


# --- NumPy's semantics ---------------------------------------------------------------------------
@guarded
def set_np_shape(active: bool) -> bool:
    """Switch NumPy's shapes on or off in this thread; what was before.

    Under them 0 is a size and -1 an unknown one in shapes that are declared or inferred, () is the
    shape of an array without axes, an index that leaves no axis gives one, and `nd.save` writes
    files that say so.

    Parameters
    ----------
    active : bool

    Examples
    --------
    >>> before = set_np_shape(True)
    >>> is_np_shape(), set_np_shape(before), is_np_shape()
    (True, True, False)
    """
    on = whole_number(active)
    if on is None or isinstance(active, (str, float)):
        raise ArgumentTypeError(f"set_np_shape: active must be a bool, got {shown(active)}")
    return switch(bool(on))


class np_shape:
    """A scope of `set_np_shape`; also a decorator.

    Parameters
    ----------
    active : bool

    Examples
    --------
    >>> import cynet as mx
    >>> x = mx.sym.var("x")
    >>> with np_shape(True):
    ...     (x * 2).infer_shape(x=(0, 3))
    ([(0, 3)], [(0, 3)], [])
    """

    def __init__(self, active: bool = True) -> None:
        self._active, self._before = active, []

    def __enter__(self):
        self._before.append(set_np_shape(self._active))

    def __exit__(self, *exc):
        set_np_shape(self._before.pop())

    def __call__(self, func):
        """`func`, which runs in such a scope."""
        active = self._active

        @functools.wraps(func)
        def run(*args, **kwargs):
            with np_shape(active):
                return func(*args, **kwargs)

        return run


def use_np_shape(func):
    """A decorator: a function, or all methods of a class, run with NumPy's shapes.

    Raises
    ------
    ArgumentTypeError
        For anything else.

    Examples
    --------
    >>> @use_np_shape
    ... def inside():
    ...     return is_np_shape()
    >>> inside(), is_np_shape()
    (True, False)
    """
    if isinstance(func, type):
        for name, value in list(vars(func).items()):
            if callable(value) and not isinstance(value, (type, staticmethod, classmethod)):
                setattr(func, name, np_shape(True)(value))
            elif isinstance(value, property):
                parts = [each and np_shape(True)(each) for each in (value.fget, value.fset)]
                setattr(func, name, property(*parts, value.fdel, value.__doc__))
        return func
    if not callable(func):
        raise ArgumentTypeError(f"use_np_shape decorates a function or a class, got {shown(func)}")
    return np_shape(True)(func)


def is_np_array() -> bool:
    """Whether arrays are ``mx.np.ndarray``: False."""
    return False


def _refuse(what):
    raise CynetError(f"{what} needs mx.np, the arrays of MXNet 1.6 and later, which cynet has not")


class _Scope:
    """``with np_array(False)``, which changes nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass


@guarded
def np_array(active: bool = True) -> _Scope:
    """A scope of ``mx.np`` arrays; only ``np_array(False)`` is possible."""
    if active:
        _refuse("np_array(True)")
    return _Scope()


def set_np(shape: bool = True, array: bool = True) -> None:
    """Switch NumPy's shapes on or off; refused with `array`."""
    if array:
        _refuse("set_np(array=True)")
    set_np_shape(shape)


def reset_np() -> None:
    """``set_np(False, False)``."""
    set_np_shape(False)


def use_np_array(func):
    """Refused: a decorator that switches ``mx.np`` arrays on."""
    return _refuse("use_np_array")


def use_np(func):
    """Refused: a decorator that switches both on."""
    return _refuse("use_np")


