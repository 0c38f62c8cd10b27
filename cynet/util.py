"""mx.util: small helpers that scripts import, and the switches of ``mx.np``."""

import functools
import os

from .base.config import getenv, setenv
from .base.guard import guarded
from .context import gpu_memory_info, num_gpus
from .numpy_extension.switches import (
    is_np_array,
    is_np_shape,
    np_array,
    np_shape,
    reset_np,
    set_np,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_shape,
)

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
    """Make a folder and its parent folders, unless they exist.

    Parameters
    ----------
    d : str
        Path of the folder; ``~`` stands for the user's home.

    Examples
    --------
    >>> import os
    >>> mx.util.makedirs("runs/first")
    >>> mx.util.makedirs("runs/first")
    >>> os.listdir("runs")
    ['first']
    """
    os.makedirs(os.path.expanduser(d), exist_ok=True)


def get_gpu_count() -> int:
    """Count the GPUs.

    Examples
    --------
    >>> mx.util.get_gpu_count() == mx.context.num_gpus()
    True
    """
    return num_gpus()


@guarded
def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Return the memory of a GPU in bytes: (free, total).

    Parameters
    ----------
    gpu_dev_id : int
        Index of the GPU.

    Raises
    ------
    CynetError
        If there is no such GPU, or none can be used.

    Examples
    --------
    >>> if mx.util.get_gpu_count():
    ...     free, total = mx.util.get_gpu_memory(0)
    """
    return gpu_memory_info(gpu_dev_id)


@guarded
def set_module(module: str):
    """Return a decorator that sets the ``__module__`` of a function or class.

    Parameters
    ----------
    module : str
        Name of the module that users import it from.

    Returns
    -------
    callable
        Takes the function or class and returns it.

    Examples
    --------
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
    """``functools.wraps`` for objects that lack some of the copied attributes.

    Parameters
    ----------
    wrapped : callable
        The function that is wrapped.
    assigned : sequence of str
        Names of the attributes to copy, if it has them.

    Returns
    -------
    callable
        A decorator.

    Examples
    --------
    >>> @wraps_safely(len)
    ... def length(x):
    ...     return len(x)
    >>> length.__name__
    'len'
    """
    return functools.wraps(wrapped, assigned=assigned)
