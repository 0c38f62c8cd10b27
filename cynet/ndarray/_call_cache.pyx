"""What imperative calls are remembered by: arrays and parameters as something hashable."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.string cimport memcpy

from .._ndarray cimport NDArrayBase

import numpy as np

from ..base.errors import ArgumentTypeError

cdef bytes pack(list given, int dev_type, int dev_id):
    # Everything about the arrays that a Call depends on, as bytes.
    cdef Py_ssize_t size = 8
    cdef NDArrayBase array
    cdef char* to
    for array in given:
        size += 2 + 8 * array.blob.ndim
    out = PyBytes_FromStringAndSize(NULL, size)
    to = PyBytes_AS_STRING(out)
    memcpy(to, &dev_type, 4)
    memcpy(to + 4, &dev_id, 4)
    to += 8
    for array in given:
        to[0] = <char>array.blob.dtype
        to[1] = <char>array.blob.ndim
        memcpy(to + 2, array.blob.shape, 8 * array.blob.ndim)
        to += 2 + 8 * array.blob.ndim
    return out


cdef object freeze(object value):
    # Hashable, and unequal for values that parse differently (1, 1.0, True; 0.0, -0.0).
    if type(value) is int or type(value) is str or value is None:
        return value
    if type(value) is float:
        return repr(value), float
    if isinstance(value, (float, np.floating)):
        return repr(float(value)), type(value)
    if type(value) is bool:
        return value, bool
    if type(value) is tuple or type(value) is list:
        for each in value:
            if type(each) is tuple or type(each) is list:  # no parameter is; hashing would recurse
                raise ArgumentTypeError("nested")
        for each in value:
            if type(each) is not int:
                return type(value), tuple([freeze(v) for v in value])
        return tuple(value)
    return value, type(value)
