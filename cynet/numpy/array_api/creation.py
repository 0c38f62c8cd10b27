"""New arrays of the array API: Python's ints give int64, its floats float32."""

import numpy as onp

from ...base.errors import ArgumentError, ArgumentTypeError
from ...context import read_context
from ...ndarray.ndarray import NDArray
from .. import creation, selection
from .._call import array_of
from .dtypes import default_dtype


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of numbers, sequences, buffers, or the array itself where nothing is to change.

    Raises
    ------
    ArgumentError
        `copy` is False, and a copy is needed.
    """
    if isinstance(obj, NDArray):
        own = obj.as_np_ndarray()
        moves = device is not None and read_context(device) != own.context
        changes = dtype is not None and onp.dtype(dtype) != own.dtype
        if copy is False and (moves or changes):
            raise ArgumentError(
                f"array_api.asarray: {own.dtype} on {own.context} becomes {dtype or own.dtype} on "
                f"{device or own.context} by a copy alone, and copy is False"
            )
        own = own.astype(dtype) if changes else own
        own = own.to_device(read_context(device)) if moves else own
        return own.copy() if copy and own is obj else own
    if copy is False:
        raise ArgumentError("array_api.asarray: the values are copied, and copy is False")
    if dtype is None and not isinstance(obj, (onp.ndarray, onp.generic)):
        obj = onp.asarray(creation._nested_to_numpy(obj))
        dtype = default_dtype(obj.dtype.kind) if obj.dtype.kind in "biuf" else None
    return creation.array(obj, dtype, device=device)


def from_dlpack(x, /, *, device=None, copy=None):
    """An array that shares the memory of another framework's array, or a copy."""
    out = creation.from_dlpack(x, copy=copy)
    return out if device is None else out.to_device(read_context(device))


def _float_dtype(dtype):
    return default_dtype("f") if dtype is None else onp.dtype(dtype)


def _default_dtype_of(value):
    return default_dtype("b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f")


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Evenly spaced numbers in [start, stop): int64 of ints, float32 of floats."""
    if dtype is None:
        whole = all(isinstance(e, int) for e in (start, stop, step) if e is not None)
        dtype = default_dtype("i" if whole else "f")
    if stop is None:
        start, stop = 0, start
    host = onp.arange(start, stop, step)
    return creation.array(host, dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """`num` evenly spaced numbers from start to stop."""
    return creation.linspace(start, stop, num, endpoint, dtype=_float_dtype(dtype), device=device)


def empty(shape, *, dtype=None, device=None):
    """A new array, not initialized."""
    return creation.empty(shape, _float_dtype(dtype), device=device)


def zeros(shape, *, dtype=None, device=None):
    """A new array of zeros."""
    return creation.zeros(shape, _float_dtype(dtype), device=device)


def ones(shape, *, dtype=None, device=None):
    """A new array of ones."""
    return creation.ones(shape, _float_dtype(dtype), device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    """A new array filled with a value; by default of the value's dtype."""
    if isinstance(fill_value, NDArray):
        dtype = fill_value.dtype if dtype is None else dtype
    dtype = _default_dtype_of(fill_value) if dtype is None else onp.dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    value = fill_value.item() if isinstance(fill_value, NDArray) else fill_value
    return creation.array(onp.full(shape, value, dtype), dtype, device=device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """A matrix with ones on a diagonal."""
    return creation.eye(n_rows, n_cols, k, _float_dtype(dtype), device=device)


def _like_shape_and_options(x, dtype, device):
    x = array_of(x, "array_api")
    return x.shape, {
        "dtype": x.dtype if dtype is None else dtype,
        "device": x.device if device is None else device,
    }


def empty_like(x, /, *, dtype=None, device=None):
    """A new array of the shape and dtype of another one, not initialized."""
    shape, rest = _like_shape_and_options(x, dtype, device)
    return empty(shape, **rest)


def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros of the shape and dtype of an array."""
    shape, rest = _like_shape_and_options(x, dtype, device)
    return zeros(shape, **rest)


def ones_like(x, /, *, dtype=None, device=None):
    """Ones of the shape and dtype of an array."""
    shape, rest = _like_shape_and_options(x, dtype, device)
    return ones(shape, **rest)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """An array of the shape and dtype of another one with one value."""
    shape, rest = _like_shape_and_options(x, dtype, device)
    return full(shape, fill_value, **rest)


def meshgrid(*arrays, indexing="xy"):
    """The coordinates of a grid: each vector, repeated along the axes of the others.

    Raises
    ------
    ArgumentTypeError
        The arrays have more than one dtype.
    """
    if len({array_of(each, "array_api.meshgrid").dtype for each in arrays}) > 1:
        raise ArgumentTypeError("array_api.meshgrid: the arrays are of one dtype")
    return selection.meshgrid(*arrays, indexing=indexing)


def tril(x, /, *, k=0):
    """The elements at and below a diagonal; zeros above."""
    return selection.tril(x, k)


def triu(x, /, *, k=0):
    """The elements at and above a diagonal; zeros below."""
    return selection.triu(x, k)


__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]
