"""Sorting and order statistics of arrays of mx.np: functions that NumPy has in C."""

import operator

import numpy as onp

from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..ndarray.ndarray import NDArray
from . import reductions, shapes
from ._call import array_of, fill_out, is_traced, refuse_field_order
from .dispatch import call_numpy
from .elementwise import FUNCTIONS
from .reductions import axes_of
from .selection import argsort, sort, take_along_axis, where


def _check_kth(kth, length, name):
    """Raise ArgumentError if an index is outside of an axis."""
    try:
        indices = [operator.index(kth)]
    except TypeError:
        indices = [operator.index(each) for each in onp.asarray(kth).reshape(-1)]
    for each in indices:
        if not -length <= each < length:
            raise ArgumentError(
                f"mx.np.{name}: kth(={each}) out of bounds ({length}) of the axis that is sorted"
            )


def _length_along_axis(a, axis):
    return a.size if axis is None else a.shape[axes_of(axis, a.ndim, "partition")[0]]


def partition(a, kth, axis=-1, kind="introselect", order=None):
    """The elements reordered: before index `kth` none is larger than the element there, after it
    none is smaller; this implementation sorts all elements.

    Raises
    ------
    ArgumentError
        An index is outside of the axis.
    """
    refuse_field_order(order, "mx.np.partition")
    a = array_of(a, "partition")
    _check_kth(kth, _length_along_axis(a, axis), "partition")
    return sort(a, axis)


def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    """The indices of the elements in the order of `partition`; int64.

    Raises
    ------
    ArgumentError
        A place is outside of the axis.
    """
    refuse_field_order(order, "mx.np.argpartition")
    a = array_of(a, "argpartition")
    _check_kth(kth, _length_along_axis(a, axis), "argpartition")
    return argsort(a, axis)


def lexsort(keys, axis=-1):
    """The indices that sort by several keys; the last key is the primary key.

    Raises
    ------
    ArgumentTypeError, ShapeError
        There is no key, or the keys have not one shape.
    """
    keys = [array_of(each, "lexsort") for each in keys]
    if not keys:
        raise ArgumentTypeError("mx.np.lexsort takes keys, one at least")
    if any(each.shape != keys[0].shape for each in keys):
        raise ShapeError(f"mx.np.lexsort: shapes {[e.shape for e in keys]} are not one")
    order = argsort(keys[0], axis)
    for each in keys[1:]:
        order = take_along_axis(order, argsort(take_along_axis(each, order, axis), axis), axis)
    return order


def _make_nan_arg_extremum(name, function, worst):
    def run(a, axis=None, out=None, keepdims=False):
        a = array_of(a, name)
        if onp.dtype(a.dtype).kind != "f":
            return function(a, axis, out, keepdims)
        isnan = FUNCTIONS["isnan"](a)
        nothing = reductions.all(isnan, axis, keepdims=keepdims)
        found = function(where(isnan, worst, a), axis, None, keepdims)
        if is_traced(a):
            return where(nothing, -1, found)
        if nothing.any():
            raise ArgumentError(f"mx.np.{name}: all-NaN slice encountered: shape {a.shape}")
        return fill_out(found, out)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = (
        f"``numpy.{name}``: the place of the extreme of what is not NaN; int64. A graph, which "
        "cannot refuse it, has -1 where all are NaN."
    )
    return run


nanargmax = _make_nan_arg_extremum("nanargmax", reductions.argmax, float("-inf"))
nanargmin = _make_nan_arg_extremum("nanargmin", reductions.argmin, float("inf"))


def num_below(a, v, right):
    """The number of elements of `a`, in any order, that are below each of `v`; with `right` not
    above it."""
    shape, v = v.shape, shapes.ravel(v)
    a, v = shapes.to_common_dtype([a, v], "searchsorted")
    count = v.shape[0]
    both = argsort(argsort(shapes.concatenate([a, v] if right else [v, a])))
    among = both[a.shape[0] :] if right else both[:count]
    return shapes.reshape_view(among - argsort(argsort(v)), shape)


def searchsorted(a, v, side="left", sorter=None):
    """The indices at which elements keep a sorted vector sorted; int64.

    Raises
    ------
    ArgumentTypeError, ShapeError
        `side` is neither 'left' nor 'right', or `a` has not one axis.
    """
    if side not in ("left", "right"):
        raise ArgumentTypeError(f"mx.np.searchsorted: side is 'left' or 'right', got {shown(side)}")
    if not any(map(is_traced, (a, v, sorter))):
        return call_numpy(onp.searchsorted, (a, v, side, sorter), {})
    a, v = array_of(a, "searchsorted"), array_of(v, "searchsorted")
    if a.ndim != 1:
        raise ShapeError(f"mx.np.searchsorted: a has one axis, got shape {a.shape}")
    return num_below(a, v, side == "right")


def digitize(x, bins, right=False):
    """The index of the bin of each element, by ascending or descending bounds of bins; int64."""
    if not is_traced(x) and not is_traced(bins):
        return call_numpy(onp.digitize, (x, bins, right), {})
    x, bins = array_of(x, "digitize"), array_of(bins, "digitize")
    rising, falling = num_below(bins, x, not right), bins.shape[0] - num_below(bins, x, bool(right))
    return where(bins[:1] <= bins[-1:], rising, falling) if bins.shape[0] else rising


def unravel_index(indices, shape, order="C"):
    """Coordinates, one int64 array for each axis of a shape, of elements by their flat index.

    Raises
    ------
    ArgumentError
        An index is outside of the shape.
    """
    if not is_traced(indices):
        return call_numpy(onp.unravel_index, (indices, shape, order), {})
    sizes = (shape,) if hasattr(shape, "__index__") else tuple(shape)
    rest, found = indices.astype("int64"), []
    for n in sizes if order == "F" else sizes[::-1]:
        found.append(rest % n)
        rest = rest // n
    return tuple(found if order == "F" else found[::-1])


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    """Flat indices of elements by their coordinates, one array for each axis of a shape; int64.

    Raises
    ------
    ArgumentError
        A coordinate is outside of the shape, and `mode` is 'raise'; a graph does not see it.
    """
    indices = list(multi_index)
    if not any(map(is_traced, indices)):
        return call_numpy(onp.ravel_multi_index, (tuple(indices), dims, mode, order), {})
    modes = [mode] * len(indices) if isinstance(mode, str) else list(mode)
    steps = onp.cumprod([1, *(dims[:-1] if order == "F" else dims[:0:-1])]).tolist()
    found = 0
    for at, n, how, step in zip(indices, dims, modes, steps if order == "F" else steps[::-1]):
        at = array_of(at, ravel_multi_index.__name__, "int64").astype("int64")
        if how != "raise":
            at = (
                at % n
                if how == "wrap"
                else FUNCTIONS["minimum"](FUNCTIONS["maximum"](at, 0), n - 1)
            )
        found = found + at * step
    return found


def choose(a, choices, out=None, mode="raise"):
    """For each position, the element of ``choices[i]`` there, where i is the element of `a`.

    Raises
    ------
    ArgumentError
        An index is outside of `choices`, and `mode` is 'raise'; a graph clips the index.
    """
    a = array_of(a, "choose", "int64")
    if onp.dtype(a.dtype).kind == "f":
        raise ArgumentTypeError(f"mx.np.choose: numbers of arrays are ints, got {a.dtype}")
    if isinstance(choices, NDArray) or is_traced(choices):
        choices = list(choices)
    arrays = shapes.to_common_dtype([array_of(e, "choose") for e in choices], "choose")
    if mode not in ("raise", "wrap", "clip"):
        raise ArgumentTypeError(
            f"mx.np.choose: mode is 'raise', 'wrap' or 'clip', got {shown(mode)}"
        )
    a, count = a.astype("int64"), len(arrays)
    if mode == "raise" and not is_traced(a) and bool(((a < 0) | (a >= count)).any()):
        raise ArgumentError(f"mx.np.choose: a number is not that of one of {count} arrays")
    if mode == "wrap":
        a = a % count
    a, *arrays = shapes.broadcast_arrays(a, *arrays)
    found = arrays[0]
    for i, each in enumerate(arrays[1:], 1):
        found = where(a >= i, each, found)
    return fill_out(found, out)


def packbits(a, axis=None, bitorder="big"):
    """Eight bools along an axis, or of the flattened array, as the bits of each uint8."""
    a = array_of(a, "packbits")
    if onp.dtype(a.dtype).kind == "f":
        raise ArgumentTypeError(f"mx.np.packbits takes ints and bools, got {a.dtype}")
    weights = _check_bitorder(bitorder, "packbits")
    if axis is None:
        a, axis = shapes.ravel(a), 0
    (axis,) = axes_of(axis, a.ndim, "packbits")
    truths = shapes.moveaxis((a != 0).astype("int32"), axis, -1)
    more = -a.shape[axis] % 8
    if more:
        none = array_of(onp.zeros((*truths.shape[:-1], more), "int32"), "packbits")
        truths = shapes.concatenate([truths, none], -1)
    eights = shapes.reshape_view(truths, (*truths.shape[:-1], truths.shape[-1] // 8, 8))
    found = reductions.sum(eights * array_of(2**weights, "packbits"), -1).astype("uint8")
    return shapes.moveaxis(found, -1, axis)


def _check_bitorder(bitorder, name):
    if bitorder not in ("big", "little"):
        raise ArgumentTypeError(
            f"mx.np.{name}: bitorder is 'big' or 'little', got {shown(bitorder)}"
        )
    bits = onp.arange(8, dtype="int32")
    return bits[::-1].copy() if bitorder == "big" else bits


def unpackbits(a, axis=None, count=None, bitorder="big"):
    """The bits of each uint8 along an axis, or of the flattened array; all bits, or `count`."""
    a = array_of(a, "unpackbits")
    if onp.dtype(a.dtype) != "uint8":
        raise ArgumentTypeError(f"mx.np.unpackbits takes uint8, got {a.dtype}")
    if axis is None:
        a, axis = shapes.ravel(a), 0
    (axis,) = axes_of(axis, a.ndim, "unpackbits")
    wide = shapes.expand_dims(shapes.moveaxis(a, axis, -1), -1).astype("int32")
    bits = (
        FUNCTIONS["right_shift"](
            wide, array_of(_check_bitorder(bitorder, "unpackbits"), "unpackbits")
        )
        & 1
    )
    bits = shapes.reshape_view(bits, (*bits.shape[:-2], bits.shape[-2] * 8)).astype("uint8")
    length = bits.shape[-1]
    if count is not None and count > length:
        none = array_of(onp.zeros((*bits.shape[:-1], count - length), "uint8"), "unpackbits")
        bits = shapes.concatenate([bits, none], -1)
    elif count is not None:
        bits = bits[..., :count]
    return shapes.moveaxis(bits, -1, axis)


__all__ = [
    "argpartition",
    "choose",
    "digitize",
    "lexsort",
    "nanargmax",
    "nanargmin",
    "packbits",
    "partition",
    "ravel_multi_index",
    "searchsorted",
    "unpackbits",
    "unravel_index",
]
