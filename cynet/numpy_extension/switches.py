"""The switches of NumPy's semantics, of each thread: shapes, and arrays of mx.np."""

import functools

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.guard import guarded
from ..base.np_shape import is_np_shape, switch_np_arrays, switch_np_shape, uses_np_arrays
from ..operator.checks.values import whole_number

__all__ = [
    "is_np_array",
    "is_np_shape",
    "np_array",
    "np_shape",
    "reset_np",
    "set_np",
    "set_np_shape",
    "use_np",
    "use_np_array",
    "use_np_shape",
]


@guarded
def set_np_shape(active: bool) -> bool:
    """Switch NumPy's shapes on or off in this thread, with 2 in all; returns the old setting.

    Under them 0 is a size and -1 an unknown one in shapes that are declared or inferred, () is the
    shape of an array without axes, an index that leaves no axis gives one, and `nd.save` writes
    files that say so.

    Parameters
    ----------
    active : bool or int
        Whether to switch NumPy's shapes on; 2 does it in all threads, until one switches them off.

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
    return switch_np_shape(bool(on), everywhere=on == 2)


class _SwitchScope:  # base of np_shape and np_array
    """A setting for a block of code, or for a function that it decorates."""

    def __enter__(self):
        self._before.append(self._switch(self._active))

    def __exit__(self, *exc):
        self._switch(self._before.pop())

    def __call__(self, func):
        """A function that runs `func` inside the scope."""
        scope, active = type(self), self._active

        @functools.wraps(func)
        def run(*args, **kwargs):
            with scope(active):
                return func(*args, **kwargs)

        return run


class np_shape(_SwitchScope):
    """A scope of `set_np_shape`; also a decorator.

    Parameters
    ----------
    active : bool
        Whether to switch NumPy's shapes on in the scope.

    Examples
    --------
    >>> x = mx.sym.var("x")
    >>> with np_shape(True):
    ...     (x * 2).infer_shape(x=(0, 3))
    ([(0, 3)], [(0, 3)], [])
    """

    _switch = staticmethod(set_np_shape)

    def __init__(self, active: bool = True) -> None:
        self._active, self._before = active, []


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
    return _wrap_in_scope("use_np_shape", np_shape(True), func)


def _wrap_in_scope(name, scope, func):
    """Wrap a function, or the methods and properties of a class, in a scope."""
    if isinstance(func, type):
        for each, value in list(vars(func).items()):
            if callable(value) and not isinstance(value, (type, staticmethod, classmethod)):
                setattr(func, each, scope(value))
            elif isinstance(value, property):
                parts = [part and scope(part) for part in (value.fget, value.fset)]
                setattr(func, each, property(*parts, value.fdel, value.__doc__))
        return func
    if not callable(func):
        raise ArgumentTypeError(f"{name} decorates a function or a class, got {shown(func)}")
    return scope(func)


def is_np_array() -> bool:
    """Return whether this thread works with arrays of ``mx.np``.

    Returns
    -------
    bool
        False unless `set_np` or a scope switched them on: then parameters of Gluon, batches and
        losses are ``mx.np.ndarray``.

    Examples
    --------
    >>> mx.util.is_np_array()
    False
    """
    return uses_np_arrays()


class np_array(_SwitchScope):
    """A scope in which parameters, batches and losses are arrays of ``mx.np``; also a decorator.

    Parameters
    ----------
    active : bool
        Whether to switch_np_shape them on in the scope.

    Examples
    --------
    >>> with mx.util.np_array(True):
    ...     mx.util.is_np_array()
    True
    """

    _switch = staticmethod(switch_np_arrays)

    def __init__(self, active: bool = True) -> None:
        self._active, self._before = bool(active), []


def set_np(shape: bool = True, array: bool = True) -> None:
    """Switch NumPy's shapes and arrays of ``mx.np`` on or off in this thread.

    Parameters
    ----------
    shape : bool
        Whether 0 is a size and -1 unknown.
    array : bool
        Whether parameters of Gluon, batches and losses are arrays of ``mx.np``.

    Raises
    ------
    ArgumentError
        `array` without `shape`.

    Examples
    --------
    >>> mx.util.set_np()
    >>> mx.util.is_np_shape(), mx.util.is_np_array()
    (True, True)
    >>> mx.util.reset_np()
    """
    if array and not shape:
        raise ArgumentError(
            "set_np: NumPy Shape semantics is required for arrays of mx.np, so shape=False goes "
            "with array=False alone"
        )
    set_np_shape(bool(shape))
    switch_np_arrays(bool(array))


def reset_np() -> None:
    """Switch NumPy's shapes and arrays of ``mx.np`` off: ``set_np(False, False)``.

    Examples
    --------
    >>> mx.util.reset_np()
    >>> mx.util.is_np_shape(), mx.util.is_np_array()
    (False, False)
    """
    set_np(False, False)


def use_np_array(func):
    """Let a function, or all methods of a class, run with arrays of ``mx.np``: a decorator.

    Parameters
    ----------
    func : callable or type
        The function or class to decorate.

    Returns
    -------
    callable or type

    Examples
    --------
    >>> @mx.util.use_np_array
    ... def f(): return mx.util.is_np_array()
    >>> f(), mx.util.is_np_array()
    (True, False)
    """
    return _wrap_in_scope("use_np_array", np_array(True), func)


def use_np(func):
    """Let a function, or all methods of a class, run with NumPy's shapes and arrays of ``mx.np``:
    a decorator.

    Parameters
    ----------
    func : callable or type
        The function or class to decorate.

    Returns
    -------
    callable or type

    Examples
    --------
    >>> @mx.util.use_np
    ... def f(): return mx.util.is_np_shape(), mx.util.is_np_array()
    >>> f(), mx.util.is_np_shape()
    ((True, True), False)
    """
    return use_np_shape(use_np_array(func))
