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
    """Make a folder, and those it is in, unless it is there.

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

    Returns
    -------
    int

    Examples
    --------
    >>> mx.util.get_gpu_count() == mx.context.num_gpus()
    True
    """
    return num_gpus()


@guarded
def get_gpu_memory(gpu_dev_id: int) -> tuple[int, int]:
    """Ask for the memory of a GPU.

    Parameters
    ----------
    gpu_dev_id : int
        Index of the GPU.

    Returns
    -------
    (free, total) : int
        Bytes.

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
    """Say from where users import a function or class: a decorator.

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
    """``functools.wraps``, also of what lacks some of the attributes.

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


# --- NumPy's semantics ---------------------------------------------------------------------------
@guarded
def set_np_shape(active: bool) -> bool:
    """Switch NumPy's shapes on or off in this thread, or with 2 on in all threads.

    Under them 0 is a size and -1 an unknown one in shapes that are declared or inferred, () is the
    shape of an array without axes, an index that leaves no axis gives one, and `nd.save` writes
    files that say so.

    Parameters
    ----------
    active : bool or int
        Whether to switch NumPy's shapes on; 2 does it in all threads, until one switches them off.

    Returns
    -------
    bool
        What was before.

    Raises
    ------
    ArgumentTypeError
        If `active` is not a bool.

    Examples
    --------
    >>> before = set_np_shape(True)
    >>> is_np_shape(), set_np_shape(before), is_np_shape()
    (True, True, False)
    """
    on = whole_number(active)
    if on is None or isinstance(active, (str, float)):
        raise ArgumentTypeError(f"set_np_shape: active must be a bool, got {shown(active)}")
    return switch(bool(on), everywhere=on == 2)


class np_shape:
    """A scope of `set_np_shape`; also a decorator.

    Parameters
    ----------
    active : bool
        Whether to switch NumPy's shapes on in the scope.

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
    """Let a function, or all methods of a class, run with NumPy's shapes: a decorator.

    Parameters
    ----------
    func : callable or type
        The function or class to decorate.

    Returns
    -------
    callable or type

    Raises
    ------
    ArgumentTypeError
        If it is something else.

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
    """Say whether arrays are ``mx.np.ndarray``: cynet has none.

    Returns
    -------
    bool
        False.

    Examples
    --------
    >>> mx.util.is_np_array()
    False
    """
    return False


def _refuse(what):
    raise CynetError(f"{what} needs mx.np, the arrays of MXNet 1.6 and later; cynet has none")


class _Scope:
    """``with np_array(False)``, which changes nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass


@guarded
def np_array(active: bool = True) -> _Scope:
    """Make a scope of ``mx.np`` arrays; only ``np_array(False)`` is possible.

    Parameters
    ----------
    active : bool
        Whether to switch them on; only False.

    Returns
    -------
    context manager
        Which changes nothing.

    Raises
    ------
    CynetError
        If `active` is true.

    Examples
    --------
    >>> with mx.util.np_array(False):
    ...     type(mx.nd.ones((2,))).__name__
    'NDArray'
    """
    if active:
        _refuse("np_array(True)")
    return _Scope()


def set_np(shape: bool = True, array: bool = True) -> None:
    """Switch NumPy's shapes on or off; refused with `array`.

    Parameters
    ----------
    shape : bool
        Whether to switch NumPy's shapes on.
    array : bool
        Whether to switch ``mx.np`` arrays on; only False.

    Raises
    ------
    CynetError
        If `array` is true.

    Examples
    --------
    >>> mx.util.set_np(shape=True, array=False)
    >>> mx.util.is_np_shape()
    True
    >>> mx.util.reset_np()
    >>> mx.util.set_np()
    Traceback (most recent call last):
        ...
    cynet.errors.CynetError: set_np(array=True) needs mx.np, the arrays of MXNet 1.6 and later;
        cynet has none
    """
    if array:
        _refuse("set_np(array=True)")
    set_np_shape(shape)


def reset_np() -> None:
    """Switch NumPy's shapes off: ``set_np(False, False)``.

    Examples
    --------
    >>> mx.util.reset_np()
    >>> mx.util.is_np_shape()
    False
    """
    set_np_shape(False)


def use_np_array(func):
    """Refuse: a decorator that would switch ``mx.np`` arrays on.

    Parameters
    ----------
    func : callable
        The function to decorate.

    Raises
    ------
    CynetError
        In any case.

    Examples
    --------
    >>> @mx.util.use_np_array
    ... def f(): pass
    Traceback (most recent call last):
        ...
    cynet.errors.CynetError: use_np_array needs mx.np, the arrays of MXNet 1.6 and later;
        cynet has none
    """
    return _refuse("use_np_array")


def use_np(func):
    """Refuse: a decorator that would switch NumPy's shapes and ``mx.np`` arrays on.

    `use_np_shape` is the part that cynet has.

    Parameters
    ----------
    func : callable
        The function to decorate.

    Raises
    ------
    CynetError
        In any case.

    Examples
    --------
    >>> @mx.util.use_np
    ... def f(): pass
    Traceback (most recent call last):
        ...
    cynet.errors.CynetError: use_np needs mx.np, the arrays of MXNet 1.6 and later; cynet has
        none
    """
    return _refuse("use_np")


