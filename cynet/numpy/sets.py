"""Set functions of mx.np: results are elements of the input, and gradients flow to these.

NumPy finds on the host which elements they are.
"""

import numpy as onp

from ..ndarray.ndarray import NDArray
from . import shapes
from ._call import array_of, is_traced, ops
from .dispatch import call_numpy
from .order import num_below
from .selection import host_values


def _rows_at_indices(a, indices, axis=0):
    return ops.take(a, array_of(indices.astype("int64"), "unique"), axis=axis, mode="clip")


def unique(
    ar, return_index=False, return_inverse=False, return_counts=False, axis=None, equal_nan=True
):
    """The different elements, or parts along an axis, sorted.

    A gradient goes to the first of the elements that are equal.

    Raises
    ------
    ArgumentTypeError
        A graph is made, which cannot know how many there are.
    """
    ar = array_of(ar, "unique")
    host = host_values(ar, "unique")
    values, indices, *more = onp.unique(
        host, True, return_inverse, return_counts, axis, equal_nan=equal_nan
    )
    if values.size:
        values = _rows_at_indices(shapes.ravel(ar) if axis is None else ar, indices, axis or 0)
    else:
        values = shapes.reshape_view(ar, values.shape)
    found = [values] + [indices] * bool(return_index) + more
    found = [e if isinstance(e, NDArray) else array_of(e, "unique") for e in found]
    return found[0] if len(found) == 1 else tuple(found)


def _make_named_result(name, values, *rest):
    kind = type(getattr(onp, name)(onp.zeros(1)))
    return kind(values, *rest)


def unique_values(x):
    """The different elements; each NaN counts as different."""
    return unique(x, equal_nan=False)


def unique_counts(x):
    """The different elements, and how often each occurs."""
    values, counts = unique(x, return_counts=True, equal_nan=False)
    return _make_named_result("unique_counts", values, counts)


def unique_inverse(x):
    """The different elements, and for each element the index of its value among them."""
    values, inverse = unique(x, return_inverse=True, equal_nan=False)
    return _make_named_result(
        "unique_inverse", values, shapes.reshape_view(inverse, array_of(x, "unique").shape)
    )


def unique_all(x):
    """The different elements, the first index of each, each element's index among them, counts."""
    values, indices, inverse, counts = unique(x, True, True, True, equal_nan=False)
    inverse = shapes.reshape_view(inverse, array_of(x, "unique").shape)
    return _make_named_result("unique_all", values, indices, inverse, counts)


def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    """True for each element that equals one of other elements; bools."""
    if not is_traced(element) and not is_traced(test_elements):
        more = {"assume_unique": assume_unique, "invert": invert, "kind": kind}
        return call_numpy(onp.isin, (element, test_elements), more)
    a, among = array_of(element, "isin"), shapes.ravel(array_of(test_elements, "isin"))
    found = (num_below(among, a, True) > num_below(among, a, False)) & (a == a)
    return ~found if invert else found


def in1d(ar1, ar2, assume_unique=False, invert=False):
    """True for each element of one array that is in another, as one axis."""
    return shapes.ravel(isin(ar1, ar2, assume_unique, invert))


def _ravel_pair(ar1, ar2, name):
    ar1, ar2 = (shapes.ravel(array_of(each, name)) for each in (ar1, ar2))
    return shapes.to_common_dtype([ar1, ar2], name)


def union1d(ar1, ar2):
    """The different elements of both arrays, sorted."""
    return unique(shapes.concatenate(_ravel_pair(ar1, ar2, "union1d")))


def intersect1d(ar1, ar2, assume_unique=False, return_indices=False):
    """The different elements that are in both arrays, sorted; and their first indices."""
    ar1, ar2 = _ravel_pair(ar1, ar2, "intersect1d")
    hosts = [host_values(each, "intersect1d") for each in (ar1, ar2)]
    values, first, second = onp.intersect1d(*hosts, assume_unique, True)
    found = _rows_at_indices(ar1, first) if values.size else ar1[:0]
    if not return_indices:
        return found
    return found, array_of(first, "intersect1d"), array_of(second, "intersect1d")


def setdiff1d(ar1, ar2, assume_unique=False):
    """The different elements of one array that are not in another."""
    ar1, ar2 = _ravel_pair(ar1, ar2, "setdiff1d")
    ar1 = ar1 if assume_unique else unique(ar1)
    hosts = [host_values(each, "setdiff1d") for each in (ar1, ar2)]
    (indices,) = onp.isin(*hosts, invert=True).nonzero()
    return _rows_at_indices(ar1, indices) if indices.size else ar1[:0]


def setxor1d(ar1, ar2, assume_unique=False):
    """The different elements that are in one of two arrays and not in both, sorted."""
    ar1, ar2 = _ravel_pair(ar1, ar2, "setxor1d")
    both = shapes.concatenate([ar1, ar2] if assume_unique else [unique(ar1), unique(ar2)])
    _, indices, counts = onp.unique(host_values(both, "setxor1d"), True, return_counts=True)
    indices = indices[counts == 1]
    return _rows_at_indices(both, indices) if indices.size else both[:0]


__all__ = [
    "in1d",
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]
