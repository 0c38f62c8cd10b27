"""Quantiles and histograms of mx.np, and counts of integers.

NumPy counts on the host. Where the weights or the edges need a gradient, and in a graph,
operators count the elements.
"""

import math

import numpy as onp

from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..ndarray._tape import is_tracked
from ..ndarray.ndarray import NDArray
from . import reductions, shapes
from ._call import array_of, fill_out, is_traced, ops, refuse_traced
from .dispatch import call_numpy
from .elementwise import FUNCTIONS
from .order import num_below
from .selection import rint, take_along_axis, where

QUANTILE_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def quantile(
    a,
    q,
    axis=None,
    out=None,
    overwrite_input=None,
    method="linear",
    keepdims=False,
    interpolation=None,
):
    """The quantiles over axes: a share `q` of the elements is at most the value.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        The method is unknown, or a share is not within 0 and 1.
    """
    return fill_out(
        _compute_quantiles(a, q, axis, interpolation or method, keepdims, 1.0, "quantile"), out
    )


def percentile(
    a,
    q,
    axis=None,
    out=None,
    overwrite_input=None,
    method="linear",
    keepdims=False,
    interpolation=None,
):
    """The percentiles over axes: `q` percent of the elements are at most the value.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        The method is unknown, or a share is not within 0 and 100.
    """
    return fill_out(
        _compute_quantiles(a, q, axis, interpolation or method, keepdims, 100.0, "percentile"), out
    )


def median(a, axis=None, out=None, overwrite_input=None, keepdims=False):
    """The middle elements over axes, or the means of the two in the middle."""
    return fill_out(_compute_quantiles(a, 0.5, axis, "linear", keepdims, 1.0, "median"), out)


def _rows_to_reduce(a, q, axis, method, whole, name):
    """Return (shares, the elements over axes in one last axis, these axes, the shape of `a`)."""
    if method not in QUANTILE_METHODS:
        raise ArgumentTypeError(
            f"mx.np.{name}: the method is one of {QUANTILE_METHODS}, got {shown(method)}"
        )
    if is_traced(q):
        raise ArgumentTypeError(f"mx.np.{name}: q has to be known when a graph is made")
    a = array_of(a, name)
    a = a.astype("float32") if onp.dtype(a.dtype).kind in "biu" else a
    shares = onp.asarray(q.asnumpy() if isinstance(q, NDArray) else q, "float64") / whole
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ArgumentError(f"mx.np.{name}: q is within 0 and {whole:g}, got {shown(q)}")
    axes = tuple(range(a.ndim)) if axis is None else reductions.axes_of(axis, a.ndim, name)
    rest = tuple(i for i in range(a.ndim) if i not in axes)
    count = 1
    for each in axes:
        count *= a.shape[each]
    lengths = tuple(a.shape[i] for i in rest)
    if not count and name in ("median", "nanmedian"):  # NaN, as for an empty mean
        undefined = onp.full((*lengths, 1), onp.nan, onp.dtype(a.dtype))
        return shares, array_of(undefined, name), axes, a.shape
    if not count:
        raise ShapeError(f"mx.np.{name} of no elements: shape {a.shape}, axis {shown(axis)}")
    rows = shapes.transpose(a, (*rest, *axes)) if a.ndim > 1 else a
    return shares, shapes.reshape_view(rows, (*lengths, count)), axes, a.shape


def _restore_axes(found, shares, axes, shape, keepdims):
    """Reshape the quantiles of each row, one for each share, to the shape of the result."""
    found = shapes.moveaxis(found, -1, 0)
    lengths = tuple(n for i, n in enumerate(shape) if i not in axes)
    size = tuple(1 if i in axes else n for i, n in enumerate(shape)) if keepdims else lengths
    return shapes.reshape_view(found, (*shares.shape, *size))


def _compute_quantiles(a, q, axis, method, keepdims, whole, name):
    shares, rows, axes, shape = _rows_to_reduce(a, q, axis, method, whole, name)
    rows = ops.sort(rows, axis=-1)
    found = _interpolate(rows, shares.reshape(-1) * (rows.shape[-1] - 1), method)
    undefined = reductions.any(FUNCTIONS["isnan"](rows), -1, keepdims=True)
    return _restore_axes(where(undefined, float("nan"), found), shares, axes, shape, keepdims)


def nan_quantile_of_rows(a, q, axis, method, keepdims, whole, name):
    """Return quantiles of the elements that are not NaN; NaN for a row of only NaN."""
    shares, rows, axes, shape = _rows_to_reduce(a, q, axis, method, whole, name)
    isnan = FUNCTIONS["isnan"](rows)
    count = reductions.sum(~isnan, -1, keepdims=True)
    rows = ops.sort(where(isnan, float("inf"), rows), axis=-1)
    last = FUNCTIONS["maximum"](count - 1, 0).astype("float64")
    positions = last * array_of(shares.reshape(-1), name)
    low, high = FUNCTIONS["floor"](positions), FUNCTIONS["ceil"](positions)
    if method == "nearest":
        low = high = rint(positions)
    elif method in ("lower", "higher"):
        low = high = low if method == "lower" else high
    first = take_along_axis(rows, low.astype("int64"), -1)
    second = take_along_axis(rows, high.astype("int64"), -1)
    share = positions - low if method == "linear" else (high > low).astype("float64") * 0.5
    gap = where(second == first, 0.0, second - first) * share.astype(rows.dtype)
    return _restore_axes(where(count > 0, first + gap, float("nan")), shares, axes, shape, keepdims)


def _interpolate(rows, positions, method):
    low, high = onp.floor(positions).astype("int64"), onp.ceil(positions).astype("int64")
    if method == "nearest":
        low = high = onp.rint(positions).astype("int64")
    elif method in ("lower", "higher"):
        low = high = low if method == "lower" else high
    first = shapes.take(rows, low, -1)
    if (low == high).all():
        return first
    share = positions - low if method == "linear" else (high > low) * 0.5
    return first + (shapes.take(rows, high, -1) - first) * array_of(
        share.astype(rows.dtype), "quantile"
    )


def bincount(x, weights=None, minlength=0):
    """Return how often each whole number occurs, or the sums of the weights beside it.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        The numbers are not of an integer dtype, or a number is negative.
    """
    x = array_of(x, "bincount", "int64")
    refuse_traced("bincount", "the length of the result", x)
    numbers = x.asnumpy()
    if numbers.ndim != 1 or (weights is not None and tuple(weights.shape) != x.shape):
        raise ShapeError(
            f"mx.np.bincount takes numbers and weights of one axis, got shapes {x.shape} and "
            f"{None if weights is None else tuple(weights.shape)}"
        )
    if numbers.dtype.kind not in "biu":
        if (numbers % 1 != 0).any():
            raise ArgumentTypeError(f"mx.np.bincount takes whole numbers, got {shown(numbers)}")
        numbers = numbers.astype("int64")
    if (numbers.size and numbers.min() < 0) or minlength < 0:
        raise ArgumentError("mx.np.bincount: a number is negative")
    counts = onp.bincount(numbers, minlength=minlength)
    if weights is None:
        return array_of(counts.astype("int64"), "bincount")
    weights = array_of(weights, "bincount")
    weights = weights.astype("float32") if onp.dtype(weights.dtype).kind != "f" else weights
    if not numbers.size:
        return array_of(onp.zeros(counts.shape, weights.dtype), "bincount")
    indices = array_of(numbers.astype("int64").reshape(1, -1), "bincount")
    return ops._backward_gather_nd(weights, indices, shape=counts.shape)


def _any_in_graph(*given):
    return any(is_traced(e) or (isinstance(e, NDArray) and is_tracked(e)) for e in given)


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


def _to_float_array(a, name):
    a = array_of(a, name)
    return a if onp.dtype(a.dtype).kind == "f" else a.astype("float32")


def _bin_counts(columns, edges, weights, density, name):
    """Sums of weights in the boxes of a grid, or counts of elements as int64."""
    sizes, at, inside = [each.shape[0] - 1 for each in edges], 0, True
    for column, bounds, n in zip(columns, edges, sizes):
        found = num_below(bounds, column, True) - 1
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
    weights = shapes.ravel(_to_float_array(weights, name))
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
    if not _any_in_graph(a, bins, weights):
        return call_numpy(onp.histogram, (a, bins, range, density, weights), {})
    a = shapes.ravel(_to_float_array(a, "histogram"))
    edges = _bin_edges(a, bins, range, "histogram")
    weights = _check_weights(weights, a.shape[0], "histogram")
    return _bin_counts([a], [edges], weights, density, "histogram"), edges


def histogram_bin_edges(a, bins=10, range=None, weights=None):
    """The edges of the intervals of `histogram`."""
    if not _any_in_graph(a, bins):
        return call_numpy(onp.histogram_bin_edges, (a, bins, range, weights), {})
    return _bin_edges(
        shapes.ravel(_to_float_array(a, "histogram_bin_edges")), bins, range, "histogram_bin_edges"
    )


def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    """The number of rows of a sample in each box of a grid; and the edges along each axis."""
    listed = isinstance(sample, (list, tuple))
    if not _any_in_graph(*(sample if listed else [sample]), weights):
        return call_numpy(onp.histogramdd, (sample, bins, range, density, weights), {})
    if listed:
        columns = [_to_float_array(each, "histogramdd") for each in sample]
    else:
        sample = _to_float_array(sample, "histogramdd")
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
    if not _any_in_graph(x, y, weights):
        return call_numpy(onp.histogram2d, (x, y, bins, range, density, weights), {})
    several = not hasattr(bins, "__index__") and len(bins) != 2
    found, edges = histogramdd([x, y], [bins, bins] if several else bins, range, density, weights)
    return found, *edges


__all__ = ["bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]
__all__ += ["median", "percentile", "quantile"]
