"""Constants and dtypes of mx.np, and functions that only inspect arrays."""

import numpy as onp

from ..operator.numpy.promotion import promote_dtypes

pi, e, euler_gamma, inf, nan = onp.pi, onp.e, onp.euler_gamma, onp.inf, onp.nan
NAN = NaN = nan
PINF, NINF, PZERO, NZERO = inf, -inf, 0.0, -0.0
newaxis = None
float16, float32, float64 = onp.float16, onp.float32, onp.float64
uint8, int8, int32, int64 = onp.uint8, onp.int8, onp.int32, onp.int64
bool_ = onp.bool_
_python_bool = bool  # `bool` is mx.np's below
bool = onp.bool_
dtype, finfo, iinfo = onp.dtype, onp.finfo, onp.iinfo
set_printoptions = onp.set_printoptions
broadcast_shapes = onp.broadcast_shapes


def shape(a):
    """The shape of an array."""
    return a.shape if hasattr(a, "shape") else onp.shape(a)


def ndim(a):
    """The number of axes."""
    return len(shape(a))


def size(a, axis=None):
    """The number of elements, or of those along an axis."""
    sizes = shape(a)
    return int(onp.prod(sizes)) if axis is None else sizes[axis]


def result_type(*arrays_and_dtypes):
    """The dtype of arithmetic on arrays, dtypes and Python numbers, which are weak."""
    found = None
    numbers = [type(each) for each in arrays_and_dtypes if type(each) in (_python_bool, int, float)]
    for each in arrays_and_dtypes:
        if type(each) in (_python_bool, int, float):
            continue
        name = onp.dtype(getattr(each, "dtype", each)).name
        found = name if found is None else promote_dtypes(found, name)
    if float in numbers and (found is None or onp.dtype(found).kind != "f"):
        found = "float32"
    elif int in numbers and found in (None, "bool"):
        found = "int64"
    return onp.dtype("bool" if found is None and numbers else found)


def can_cast(from_, to, casting="safe"):
    """Return whether a dtype, or an array's, may become another one."""
    return onp.can_cast(onp.dtype(getattr(from_, "dtype", from_)), to, casting)


def promote_types(type1, type2):
    """The dtype of arithmetic on arrays of two dtypes."""
    return result_type(type1, type2)


min_scalar_type = onp.min_scalar_type


__all__ = [
    "NAN",
    "NINF",
    "NZERO",
    "PINF",
    "PZERO",
    "NaN",
    "bool",
    "bool_",
    "broadcast_shapes",
    "can_cast",
    "dtype",
    "e",
    "euler_gamma",
    "finfo",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "inf",
    "int8",
    "int32",
    "int64",
    "min_scalar_type",
    "nan",
    "ndim",
    "newaxis",
    "pi",
    "promote_types",
    "result_type",
    "set_printoptions",
    "shape",
    "size",
    "uint8",
]
