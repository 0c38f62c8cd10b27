"""What scripts import from mx.base beside exceptions: Python 2's names, helpers for ctypes."""

import ctypes

import numpy as np

from .guard import guarded

__all__ = [
    "basestring",
    "c_array",
    "c_str",
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
