"""Order, search and sets in the array API."""

from collections import namedtuple

import numpy as onp

from ...base.errors import ArgumentTypeError, shown
from .. import selection, shapes
from .._call import array_of
from ..creation import array

UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")  # of unique_all
UniqueCounts = namedtuple("UniqueCounts", "values counts")  # of unique_counts
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")  # of unique_inverse


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """The elements in order along an axis."""
    return selection.sort(x, axis, descending=descending)


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that sort the elements along an axis."""
    return selection.argsort(x, axis, descending=descending)


def nonzero(x, /):
    """The indices of elements that are not 0: a tuple, one array per axis.

    Raises
    ------
    ArgumentTypeError
        `x` has no axes.
    """
    if array_of(x, "nonzero").ndim == 0:
        raise ArgumentTypeError("array_api.nonzero takes an array of one axis at least")
    return selection.nonzero(x)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Return where elements of `x2` belong in the order of `x1`.

    Raises
    ------
    ArgumentTypeError
        `side` is not "left" or "right".
    """
    if side not in ("left", "right"):
        raise ArgumentTypeError(f"array_api.searchsorted: side is left or right, got {shown(side)}")
    order = None if sorter is None else sorter.asnumpy()
    found = onp.searchsorted(x1.asnumpy(), x2.asnumpy(), side, order)
    return array(found, "int64", x1.ctx)


def _unique_values(x):
    x = array_of(x, "unique")
    return x, onp.unique(x.asnumpy(), True, True, True, equal_nan=False)


def unique_all(x, /):
    """The different values, the first index of each, each element's index among them, counts."""
    x, (values, first, inverse, counts) = _unique_values(x)
    return UniqueAll(
        array(values, x.dtype, x.ctx),
        array(first, "int64", x.ctx),
        array(inverse.reshape(x.shape), "int64", x.ctx),
        array(counts, "int64", x.ctx),
    )


def unique_counts(x, /):
    """The different values, and the count of each."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x, /):
    """The different values, and for each element the index of its value among them."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x, /):
    """The different values of an array, each once."""
    x = array_of(x, "unique_values")
    return array(onp.unique(x.asnumpy(), equal_nan=False), x.dtype, x.ctx)


def take(x, indices, /, *, axis=None):
    """Elements at indices along an axis."""
    if axis is None and x.ndim != 1:
        raise ArgumentTypeError(f"array_api.take: an axis is needed for shape {x.shape}")
    return shapes.take(x, indices, 0 if axis is None else axis)


def take_along_axis(x, indices, /, *, axis=-1):
    """Elements at indices along an axis, each row with indices of its own."""
    return selection.take_along_axis(x, indices, axis)


__all__ = [
    "argsort",
    "nonzero",
    "searchsorted",
    "sort",
    "take",
    "take_along_axis",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]
