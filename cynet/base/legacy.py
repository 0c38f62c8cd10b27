"""Names that old scripts import from mx.base: names of Python 2, and helpers for ctypes."""

from __future__ import annotations

import ctypes
import importlib
import sys
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any

import numpy as np

from .config import cache_folder
from .errors import CynetError, shown
from .guard import guarded

if TYPE_CHECKING:
    import array
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = [
    "basestring",
    "c_array",
    "c_array_buf",
    "c_str",
    "c_str_array",
    "check_call",
    "classproperty",
    "data_dir",
    "data_dir_default",
    "integer_types",
    "long",
    "mx_float",
    "mx_int",
    "mx_int64",
    "mx_real_t",
    "mx_uint",
    "numeric_types",
    "py_str",
    "string_types",
    "with_metaclass",
]

# Names of Python 2 with their present types.
basestring = str
long = int
string_types = (str,)
integer_types = (int, np.int32, np.int64)
numeric_types = (float, int, np.generic)

mx_real_t = np.float32  # the default dtype of arrays
mx_int, mx_uint, mx_int64, mx_float = ctypes.c_int, ctypes.c_uint, ctypes.c_int64, ctypes.c_float


class _PoolImportHook:
    """Import hook: importing multiprocessing also imports multiprocessing.pool.

    MXNet imports the pool, and scripts name it without an import of their own. Here most programs
    have no use of it: it takes 12 ms of an import of cynet.
    """

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name == "multiprocessing" else None
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_with_pool(module: ModuleType) -> None:
                run(module)
                importlib.import_module("multiprocessing.pool")

            vars(spec.loader)["exec_module"] = exec_with_pool
        return spec


if "multiprocessing" in sys.modules:
    importlib.import_module("multiprocessing.pool")
else:
    sys.meta_path.insert(0, _PoolImportHook)


class _NullType:
    """The class of `_Null`, the default of parameters for which None is a valid value."""

    def __repr__(self) -> str:
        return "_Null"


_Null = _NullType()  # value of a parameter that was not passed


@guarded
def py_str(data: bytes | str) -> str:
    """Decode UTF-8 bytes; a str is returned unchanged, as cynet passes str to callbacks.

    Parameters
    ----------
    data : bytes or str
        The bytes to decode.

    Examples
    --------
    >>> py_str(b"abc")
    'abc'
    """
    return data if isinstance(data, str) else data.decode("utf-8")


@guarded
def c_str(string: str) -> ctypes.c_char_p:
    """Encode a str as a ``ctypes.c_char_p``, in UTF-8.

    Parameters
    ----------
    string : str
        The str to encode.

    Examples
    --------
    >>> mx.base.c_str("abc").value
    b'abc'
    """
    return ctypes.c_char_p(string.encode("utf-8"))


@guarded
def c_array(ctype: type[Any], values: Sequence[Any]) -> ctypes.Array[Any]:
    """Make a ctypes array with the values of a sequence.

    Parameters
    ----------
    ctype : type
        The ctypes type of the elements.
    values : sequence
        Numbers that fit `ctype`.

    Returns
    -------
    ctypes.Array

    Examples
    --------
    >>> list(c_array(mx_uint, [1, 2]))
    [1, 2]
    """
    made: ctypes.Array[Any] = (ctype * len(values))(*values)
    return made


@guarded
def c_array_buf(ctype: type[Any], buf: array.array[Any]) -> ctypes.Array[Any]:
    """Make a ctypes array over the memory of an ``array.array``.

    Parameters
    ----------
    ctype : type
        The ctypes type of the elements.
    buf : array.array
        The array whose memory is shared.

    Returns
    -------
    ctypes.Array
        A write to it shows in `buf`.

    Examples
    --------
    >>> import array, ctypes
    >>> numbers = array.array("i", [1, 2, 3])
    >>> shared = mx.base.c_array_buf(ctypes.c_int, numbers)
    >>> shared[0] = 10
    >>> numbers
    array('i', [10, 2, 3])
    """
    shared: ctypes.Array[Any] = (ctype * len(buf)).from_buffer(buf)
    return shared


@guarded
def check_call(ret: int) -> None:
    """Raise if a C function, called through ctypes, reports a failure.

    Parameters
    ----------
    ret : int
        What the function returned; 0 means success.

    Raises
    ------
    CynetError
        For any other number.

    Examples
    --------
    >>> mx.base.check_call(0)
    >>> mx.base.check_call(-1)
    Traceback (most recent call last):
        ...
    cynet.errors.CynetError: a function of C has failed: it returned -1, expected 0
    """
    if ret != 0:
        raise CynetError(f"a function of C has failed: it returned {shown(ret)}, expected 0")


@guarded
def c_str_array(strings: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    """Make a ctypes array of ``char*`` from strs.

    Parameters
    ----------
    strings : sequence of str
        The strs to encode.

    Examples
    --------
    >>> list(mx.base.c_str_array(["data", "label"]))
    [b'data', b'label']
    """
    return c_array(ctypes.c_char_p, [each.encode("utf-8") for each in strings])


def data_dir_default() -> str:
    """Return the folder of downloads: CYNET_HOME, or ~/.cache/cynet.

    Examples
    --------
    >>> with mx.test_utils.environment("CYNET_HOME", "kept"):
    ...     mx.base.data_dir_default()
    'kept'
    """
    return str(cache_folder())


data_dir = data_dir_default


def with_metaclass(meta: type, *bases: type) -> type:
    """Make a base class with a metaclass, in a form that also works in Python 2.

    Parameters
    ----------
    meta : type
        The metaclass.
    *bases : type
        The base classes.

    Returns
    -------
    type
        A base: what derives from it has `bases` instead.

    Examples
    --------
    >>> class Sized(with_metaclass(type, list)): pass
    >>> Sized.__mro__[1]
    <class 'list'>
    """
    return type.__new__(_BasePlaceholder, "with_metaclass", (), {"made_by": (meta, bases)})


class _BasePlaceholder(type):
    """Metaclass of a temporary base class: its subclass gets the real bases and metaclass."""

    def __new__(cls, name: str, bases: tuple[Any, ...], body: dict[str, Any]) -> Any:
        meta, real = bases[0].made_by
        return meta(name, real, body)


class classproperty:
    """A property of the class itself.

    Parameters
    ----------
    fget : callable
        Called with the class; returns the value.

    Examples
    --------
    >>> class Net:
    ...     depth = classproperty(lambda cls: 3)
    >>> Net.depth
    3
    """

    def __init__(self, fget: Callable[[type], Any]) -> None:
        self.fget = fget

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self.fget(type(instance) if owner is None else owner)


def _as_list(obj: Any) -> list[Any] | tuple[Any, ...]:
    """Return a list or tuple unchanged, any other object in a list."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def _multiple_callbacks(callbacks: Any, *args: Any, **kwargs: Any) -> None:
    """Call a callback, all callbacks of a list, or nothing for None."""
    for callback in _as_list([] if callbacks is None else callbacks):
        callback(*args, **kwargs)
