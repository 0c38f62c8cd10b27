"""mx.util: small helpers that scripts import; the switches of ``mx.np`` stay off."""

import functools
import os

from .base.config import getenv, setenv
from .base.errors import CynetError
from .base.guard import guarded
from .context import gpu_memory_info, num_gpus
from .libinfo import name_missing_in

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
def is_np_shape() -> bool:
    """Whether shapes are NumPy's, where 0 is an extent: False."""
    return False


def is_np_array() -> bool:
    """Whether arrays are ``mx.np.ndarray``: False."""
    return False


def _refuse(what):
    raise CynetError(f"{what} needs mx.np, the arrays of MXNet 1.6 and later, which cynet has not")


class _Scope:
    """``with np_shape(False)``, which changes nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass


@guarded
def set_np_shape(active: bool) -> bool:
    """Switch NumPy's shapes off; what was, False. Switching them on is refused."""
    if active:
        _refuse("set_np_shape(True)")
    return False


@guarded
def np_shape(active: bool = True) -> _Scope:
    """A scope of ``set_np_shape``."""
    set_np_shape(active)
    return _Scope()


@guarded
def np_array(active: bool = True) -> _Scope:
    """A scope of ``mx.np`` arrays; only ``np_array(False)`` is possible."""
    if active:
        _refuse("np_array(True)")
    return _Scope()


def set_np(shape: bool = True, array: bool = True) -> None:
    """Refused unless both are False."""
    if shape or array:
        _refuse("set_np()")


def reset_np() -> None:
    """``set_np(False, False)``, which is how it is."""


def use_np_shape(func):
    """Refused: a decorator that switches NumPy's shapes on."""
    return _refuse("use_np_shape")


def use_np_array(func):
    """Refused: a decorator that switches ``mx.np`` arrays on."""
    return _refuse("use_np_array")


def use_np(func):
    """Refused: a decorator that switches both on."""
    return _refuse("use_np")


name_missing_in("util")
