"""Manipulation of shapes in the array API: functions of mx.np with the standard's signatures."""

from ...base.errors import ArgumentError
from .. import shapes
from .._call import array_of
from .dtypes import result_type


def broadcast_arrays(*arrays):
    """The arrays, each repeated to the shape they have in common."""
    return shapes.broadcast_arrays(*arrays)


def broadcast_to(x, /, shape):
    """The array with its elements repeated to a shape."""
    return shapes.broadcast_to(x, shape)


def concat(arrays, /, *, axis=0):
    """Concatenate arrays along an axis; None flattens them first."""
    dtype = result_type(*arrays)
    return shapes.concatenate([e.astype(dtype, copy=False) for e in arrays], axis)


def expand_dims(x, /, axis=0):
    """The array with a new axis of length 1."""
    return shapes.expand_dims(x, axis)


def flip(x, /, *, axis=None):
    """The array with axes in the other direction, by default all."""
    return shapes.flip(x, axis)


def moveaxis(x, source, destination, /):
    """The array with axes moved to other positions."""
    return shapes.moveaxis(x, source, destination)


def permute_dims(x, /, axes):
    """The array with its axes in another order."""
    return shapes.transpose(x, axes)


def repeat(x, repeats, /, *, axis=None):
    """Repeat each element along an axis, or of the flattened array."""
    counts = repeats if isinstance(repeats, int) else array_of(repeats, "repeat").asnumpy()
    return shapes.repeat(x, counts, axis)


def reshape(x, /, shape, *, copy=None):
    """The elements under another shape.

    Raises
    ------
    ArgumentError
        `copy` is False, and the memory is not shared.
    """
    out = shapes.reshape(x, shape)
    if copy:
        return out.copy()
    if copy is False and x.size and not out.shares_memory(x):
        raise ArgumentError("array_api.reshape: the elements are copied, and copy is False")
    return out


def roll(x, /, shift, *, axis=None):
    """Shift elements along axes; elements beyond the end return at the front."""
    return shapes.roll(x, shift, axis)


def squeeze(x, /, axis):
    """The array without axes of length 1."""
    return shapes.squeeze(x, axis)


def stack(arrays, /, *, axis=0):
    """Join arrays of one shape along a new axis."""
    return shapes.stack(list(arrays), axis)


def tile(x, repetitions, /):
    """The array repeated along each axis."""
    return shapes.tile(x, repetitions)


def unstack(x, /, *, axis=0):
    """The parts of length 1 along an axis, without that axis."""
    return shapes.unstack(x, axis)


__all__ = [
    "broadcast_arrays",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]
