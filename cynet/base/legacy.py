"""What scripts import from mx.base beside exceptions: Python 2's names, helpers for ctypes."""

import ctypes

import numpy as np

from .config import cache_folder
from .guard import guarded

__all__ = [
    "basestring",
    "c_array",
    "c_array_buf",
    "c_str",
    "c_str_array",
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

# What Python 2's names mean now.
basestring = str
long = int
string_types = (str,)
integer_types = (int, np.int32, np.int64)
numeric_types = (float, int, np.generic)

mx_real_t = np.float32  # the dtype of arrays where none is given
mx_int, mx_uint, mx_int64, mx_float = ctypes.c_int, ctypes.c_uint, ctypes.c_int64, ctypes.c_float


class _NullType:
    """The class of `_Null`: stands for a parameter that is not given, where None is a value."""

    def __repr__(self):
        return "_Null"


_Null = _NullType()


@guarded
def py_str(data):
    """The str of UTF-8 bytes.

    >>> py_str(b"abc")
    'abc'
    """
    return data.decode("utf-8")


@guarded
def c_str(string):
    """A ``ctypes.c_char_p`` of a str, in UTF-8."""
    return ctypes.c_char_p(string.encode("utf-8"))


@guarded
def c_array(ctype, values):
    """A ctypes array of type `ctype` with the values of a sequence.

    >>> list(c_array(mx_uint, [1, 2]))
    [1, 2]
    """
    return (ctype * len(values))(*values)


@guarded
def c_array_buf(ctype, buf):
    """A ctypes array of type `ctype` over the memory of an ``array.array``."""
    return (ctype * len(buf)).from_buffer(buf)


@guarded
def c_str_array(strings):
    """A ctypes array of ``char*`` of some strs."""
    return c_array(ctypes.c_char_p, [each.encode("utf-8") for each in strings])


def data_dir_default():
    """The folder of downloads: CYNET_HOME, or ~/.cache/cynet."""
    return str(cache_folder())


data_dir = data_dir_default


def with_metaclass(meta, *bases):
    """A class of `bases` made by `meta`, in a form that Python 2 understands, too.

    >>> class Sized(with_metaclass(type, list)): pass
    >>> Sized.__mro__[1]
    <class 'list'>
    """
    return type.__new__(_Later, "with_metaclass", (), {"made_by": (meta, bases)})


class _Later(type):
    """Makes, of a class below it, one of the bases and the metaclass that were asked for."""

    def __new__(cls, name, bases, body):
        meta, real = bases[0].made_by
        return meta(name, real, body)


class classproperty:
    """A property of the class itself.

    >>> class Net:
    ...     depth = classproperty(lambda cls: 3)
    >>> Net.depth
    3
    """

    def __init__(self, fget):
        self.fget = fget

    def __get__(self, instance, owner=None):
        return self.fget(type(instance) if owner is None else owner)


def _as_list(obj):
    """A list or tuple as it is, anything else in a list."""
    return obj if isinstance(obj, (list, tuple)) else [obj]


def _multiple_callbacks(callbacks, *args, **kwargs):
    """Call a callback, or each of a list, or none where it is None."""
    for callback in _as_list([] if callbacks is None else callbacks):
        callback(*args, **kwargs)
