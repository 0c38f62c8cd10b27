"""Histograms of mx.np: how many elements lie in each of several intervals.

NumPy counts on the host. Where a gradient is asked for, of weights and of edges, and in a graph,
elements are counted by operators.
"""

import math

import numpy as onp

from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..ndarray._tape import follows
from ..ndarray.ndarray import NDArray
from . import reductions, shapes
from ._call import array_of, is_traced, ops
from .dispatch import call_numpy
from .order import ranks
from .selection import where


def _needs_operators(*given):
    return any(is_traced(e) or (isinstance(e, NDArray) and follows(e)) for e in given)


def _range_limits(a, range, name):
    """The lowest and the highest edge, arrays of one element."""
    if range is None:
        if not a.size:
            raise ShapeError(f"mx.np.{name} in a graph: of no elements a range is needed")
        low, high = reductions.min(a), reductions.max(a)
    else:
        low, high = (array_of(float(each), name, a.dtype) for each in range)
        if not range[0] <= range[1]:
            raise ArgumentError(f"mx.np.{name}: range falls: {shown(range)}")
    alone = low == high
    return shapes.reshape_view(where(alone, low - 0.5, low), (1,)), shapes.reshape_view(
        where(alone, high + 0.5, high), (1,)
    )


def _bin_edges(a, bins, range, name):
    if isinstance(bins, str):
        raise ArgumentTypeError(
            f"mx.np.{name}: how many bins {shown(bins)} gives depends on values: give an int where "
            "a gradient is to flow, and in a graph"
        )
    if not hasattr(bins, "__index__") or getattr(bins, "ndim", 0):
        edges = array_of(bins, name)
        if edges.ndim != 1 or edges.shape[0] < 2:
            raise ShapeError(f"mx.np.{name}: edges are of one axis, two at least: {edges.shape}")
        return edges
    if bins < 1:
        raise ArgumentError(f"mx.np.{name}: bins is positive, got {shown(bins)}")
    low, high = _range_limits(a, range, name)
    share = array_of(onp.arange(bins + 1) / bins, name).astype(low.dtype)
    return low + (high - low) * share


def _sample_columns(a, name):
    a = array_of(a, name)
    return a if onp.dtype(a.dtype).kind == "f" else a.astype("float32")


def _bin_counts(columns, edges, weights, density, name):
    """Sums of weights, or numbers of elements, in the boxes of a grid; int64 where they count."""
    sizes, at, inside = [each.shape[0] - 1 for each in edges], 0, True
    for column, bounds, n in zip(columns, edges, sizes):
        found = ranks(bounds, column, True) - 1
        found = where(column == bounds[-1], n - 1, found)  # the last interval includes both ends
        within = (found >= 0) & (found < n)
        inside = within if inside is True else inside & within
        at = at * n + ops.clip(found, a_min=0, a_max=n - 1)
    kind = "float32" if weights is None else weights.dtype
    given = inside.astype(kind) if weights is None else where(inside, weights, 0.0)
    total = ops._backward_gather_nd(given, shapes.expand_dims(at, 0), shape=(math.prod(sizes),))
    total = shapes.reshape_view(total, tuple(sizes))
    if not density:
        return total if weights is not None else total.astype("int64")
    for axis, bounds in enumerate(edges):
        wide = [1] * len(edges)
        wide[axis] = -1
        total = total / (bounds[1:] - bounds[:-1]).reshape(wide)
    return total / reductions.sum(given)


def _check_weights(weights, count, name):
    if weights is None:
        return None
    weights = shapes.ravel(_sample_columns(weights, name))
    if weights.shape[0] != count:
        raise ShapeError(f"mx.np.{name}: {weights.shape[0]} weights for {count} elements")
    return weights


def histogram(a, bins=10, range=None, density=None, weights=None):
    """The number of elements in each interval, or the sums of their weights; and the edges.

    Raises
    ------
    ArgumentTypeError, ArgumentError, ShapeError
        What NumPy refuses; in a graph a number of bins that depends on values.
    """
    if not _needs_operators(a, bins, weights):
        return call_numpy(onp.histogram, (a, bins, range, density, weights), {})
    a = shapes.ravel(_sample_columns(a, "histogram"))
    edges = _bin_edges(a, bins, range, "histogram")
    weights = _check_weights(weights, a.shape[0], "histogram")
    return _bin_counts([a], [edges], weights, density, "histogram"), edges


def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges of the intervals of `histogram`."""
    if not _needs_operators(a, bins):
        return call_numpy(onp.histogram_bin_edges, (a, bins, range, weights), {})
    return _bin_edges(
        shapes.ravel(_sample_columns(a, "histogram_bin_edges")), bins, range, "histogram_bin_edges"
    )


def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    """The number of rows of a sample in each box of a grid; and the edges along each axis."""
    listed = isinstance(sample, (list, tuple))
    if not _needs_operators(*(sample if listed else [sample]), weights):
        return call_numpy(onp.histogramdd, (sample, bins, range, density, weights), {})
    if listed:
        columns = [_sample_columns(each, "histogramdd") for each in sample]
    else:
        sample = _sample_columns(sample, "histogramdd")
        sample = sample if sample.ndim == 2 else shapes.expand_dims(sample, 1)
        columns = [sample[:, i] for i in onp.arange(sample.shape[1]).tolist()]
    n = len(columns)
    bins = [bins] * n if hasattr(bins, "__index__") and not getattr(bins, "ndim", 0) else bins
    ranges = [None] * n if range is None else range
    if len(bins) != n or len(ranges) != n:
        raise ShapeError(f"mx.np.histogramdd: {len(bins)} bins and {len(ranges)} ranges, {n} axes")
    edges = [_bin_edges(*each, "histogramdd") for each in zip(columns, bins, ranges)]
    weights = _check_weights(weights, columns[0].shape[0], "histogramdd")
    found = _bin_counts(columns, edges, weights, density, "histogramdd")
    return found.astype("float64"), tuple(edges)  # NumPy's dtype of counts


def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    """The number of points in each box of a grid; and the edges along both axes."""
    if not _needs_operators(x, y, weights):
        return call_numpy(onp.histogram2d, (x, y, bins, range, density, weights), {})
    several = not hasattr(bins, "__index__") and len(bins) != 2
    found, edges = histogramdd([x, y], [bins, bins] if several else bins, range, density, weights)
    return found, *edges


__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]
