"""New arrays of mx.np."""

import numpy as onp

from .._ndarray import empty as empty_array
from ..base.dtype import dtype_flag, name_of
from ..base.errors import ArgumentTypeError
from ..context import read_context
from ..ndarray._fill import filled_array
from ..ndarray.ndarray import NDArray
from ..operator.numpy.promotion import check_int_range
from ._call import NP, NUMBERS, array_of, fill_out, is_np, is_traced, make_array, refuse_order


def _target_context(ctx, device):
    return read_context(device if ctx is None else ctx)


def array(object, dtype=None, ctx=None, device=None):
    """A new array with the values of a number, a list, a NumPy array or another array.

    Numbers and lists of them are float32 where no dtype is given, bools are bools; arrays keep
    their dtype.
    """
    if is_traced(object):
        return object.astype(dtype) if dtype is not None else object.copy()
    if isinstance(object, NDArray):
        out = object.as_np_ndarray()
        out = out.astype(dtype) if dtype is not None else out.copy()
        return (
            out if ctx is None and device is None else out.as_in_ctx(_target_context(ctx, device))
        )
    return make_array(_nested_to_numpy(object), dtype, _target_context(ctx, device), "array")


def _nested_to_numpy(value):
    """Nested lists with their mx.np arrays replaced by NumPy arrays."""
    if isinstance(value, NDArray):
        return value.asnumpy()
    if isinstance(value, (list, tuple)) and any(
        isinstance(each, (NDArray, list, tuple)) for each in value
    ):
        return [_nested_to_numpy(each) for each in value]
    return value


def asarray(object, dtype=None, ctx=None, device=None, copy=None):
    """The array itself if it is an array of mx.np of that dtype, else a new array."""
    same = None
    if is_np(object) and copy is not True and dtype in (None, object.dtype):
        same = object
    elif isinstance(object, NDArray) and not is_np(object) and copy is not True and dtype is None:
        same = object.as_np_ndarray()
    if same is None:
        return array(object, dtype, ctx, device)
    return same if ctx is None and device is None else same.as_in_ctx(_target_context(ctx, device))


asanyarray = ascontiguousarray = asarray


def empty(shape, dtype=None, order="C", ctx=None, device=None):
    """A new array, not initialized; float32 by default."""
    if order != "C":
        refuse_order(order, "mx.np.empty")
    context = _target_context(ctx, device)
    return empty_array(
        shape, dtype_flag(dtype), context.device_typeid, context.device_id, False, NP
    )


def zeros(shape, dtype=None, order="C", ctx=None, device=None):
    """A new array of zeros; float32 by default."""
    if order != "C":
        refuse_order(order, "mx.np.zeros")
    return filled_array(shape, 0.0, _target_context(ctx, device), dtype, NP)


def ones(shape, dtype=None, order="C", ctx=None, device=None):
    """A new array of ones; float32 by default."""
    if order != "C":
        refuse_order(order, "mx.np.ones")
    return filled_array(shape, 1.0, _target_context(ctx, device), dtype, NP)


def full(shape, fill_value, dtype=None, order="C", ctx=None, device=None, out=None):
    """A new array with one value, or the values of an array that broadcasts."""
    if order != "C":
        refuse_order(order, "mx.np.full")
    if not isinstance(fill_value, NUMBERS):
        value = array_of(fill_value, "full")
        made_of = broadcast_to_copy(value, shape, ctx, device)
        return fill_out(made_of if dtype is None else made_of.astype(dtype), out)
    if dtype is None:
        dtype = "bool" if isinstance(fill_value, (bool, onp.bool_)) else "float32"
    context = _target_context(ctx, device)
    if type(fill_value) is int:
        check_int_range(fill_value, name_of(dtype), "mx.np.full")
    if isinstance(fill_value, int) and abs(fill_value) >= 1 << 53:
        return fill_out(make_array(onp.full(shape, fill_value), dtype, context, "full"), out)
    return fill_out(filled_array(shape, float(fill_value), context, dtype, NP), out)


def broadcast_to_copy(value, shape, ctx=None, device=None):
    """A new array with the values of `value`, broadcast to a shape."""
    out = empty(shape, value.dtype, ctx=ctx, device=device)
    out[...] = value
    return out


def _device_like(array, ctx, device):
    """The requested device, or the device of an array."""
    return array.context if ctx is None and device is None else _target_context(ctx, device)


def _full_like(value, prototype, dtype, ctx, device):
    array = array_of(prototype, "full_like")
    context = _device_like(array, ctx, device)
    return filled_array(array.shape, value, context, array.dtype if dtype is None else dtype, NP)


def zeros_like(a, dtype=None, order="C", ctx=None, out=None, device=None):
    """Zeros of the shape and dtype of an array."""
    if order != "C":
        refuse_order(order, "mx.np.zeros_like")
    return fill_out(_full_like(0.0, a, dtype, ctx, device), out)


def ones_like(a, dtype=None, order="C", ctx=None, out=None, device=None):
    """Ones of the shape and dtype of an array."""
    if order != "C":
        refuse_order(order, "mx.np.ones_like")
    return fill_out(_full_like(1.0, a, dtype, ctx, device), out)


def empty_like(prototype, dtype=None, order="C", subok=False, shape=None, ctx=None, device=None):
    """A new array of the shape and dtype of another one, not initialized."""
    if order != "C":
        refuse_order(order, "mx.np.empty_like")
    array = array_of(prototype, "empty_like")
    shape = array.shape if shape is None else shape
    dtype = array.dtype if dtype is None else dtype
    return empty(shape, dtype, ctx=_device_like(array, ctx, device))


def full_like(a, fill_value, dtype=None, order="C", ctx=None, out=None, device=None):
    """An array of the shape and dtype of another one with one value."""
    array = array_of(a, "full_like")
    dtype = array.dtype if dtype is None else dtype
    place = _device_like(array, ctx, device)
    return full(array.shape, fill_value, dtype, order, place, out=out)


def arange(start, stop=None, step=1, dtype=None, ctx=None, device=None):
    """Evenly spaced numbers in [start, stop); float32 by default."""
    begin, end = (0, start) if stop is None else (start, stop)
    host = onp.arange(begin, end, 1 if step is None else step)
    return make_array(
        host, "float32" if dtype is None else dtype, _target_context(ctx, device), "arange"
    )


def linspace(
    start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, ctx=None, device=None
):
    """`num` evenly spaced numbers from start to stop; float32 by default."""
    host, step = onp.linspace(
        _nested_to_numpy(start), _nested_to_numpy(stop), num, endpoint, True, axis=axis
    )
    out = make_array(
        host, "float32" if dtype is None else dtype, _target_context(ctx, device), "linspace"
    )
    return (out, step) if retstep else out


def logspace(
    start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0, ctx=None, device=None
):
    """`num` numbers that are evenly spaced on a scale of logarithms."""
    host = onp.logspace(
        _nested_to_numpy(start), _nested_to_numpy(stop), num, endpoint, base, axis=axis
    )
    return make_array(
        host, "float32" if dtype is None else dtype, _target_context(ctx, device), "logspace"
    )


def eye(N, M=None, k=0, dtype=None, ctx=None, device=None):
    """A matrix with ones on a diagonal."""
    host = onp.eye(N, M, k)
    return make_array(
        host, "float32" if dtype is None else dtype, _target_context(ctx, device), "eye"
    )


def identity(n, dtype=None, ctx=None, device=None):
    """The identity matrix of n rows."""
    return eye(n, dtype=dtype, ctx=ctx, device=device)


def tri(N, M=None, k=0, dtype=None, ctx=None, device=None):
    """A matrix with ones at and below a diagonal."""
    host = onp.tri(N, M, k)
    return make_array(
        host, "float32" if dtype is None else dtype, _target_context(ctx, device), "tri"
    )


def indices(dimensions, dtype=None, ctx=None, device=None):
    """The indices of the rows and columns of a grid, int64 by default."""
    host = onp.indices(dimensions)
    return make_array(
        host, "int64" if dtype is None else dtype, _target_context(ctx, device), "indices"
    )


def _window_function(name):
    def function(M, dtype=None, ctx=None, device=None):
        host = getattr(onp, name)(M)
        return make_array(
            host, "float32" if dtype is None else dtype, _target_context(ctx, device), name
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The {name} window of M points, float32 by default."
    return function


blackman, hamming, hanning, bartlett = map(
    _window_function, ("blackman", "hamming", "hanning", "bartlett")
)


def from_dlpack(x, /, *, device=None, copy=None):
    """An array that shares the memory of another framework's array."""
    from ..ndarray._dlpack import import_memory

    if device is not None:
        raise ArgumentTypeError("mx.np.from_dlpack: device is None alone")
    out = import_memory(x, NP)
    return out.copy() if copy else out


__all__ = [
    "arange",
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "bartlett",
    "blackman",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "hamming",
    "hanning",
    "identity",
    "indices",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "tri",
    "zeros",
    "zeros_like",
]
