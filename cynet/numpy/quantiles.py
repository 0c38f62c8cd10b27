"""Quantiles of mx.np, and counts of integers."""

import numpy as onp

from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from ..ndarray.ndarray import NDArray
from . import reductions, shapes
from ._call import array_of, finished, is_traced, ops, refuse_traced
from .elementwise import FUNCTIONS
from .selection import rint, take_along_axis, where

METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


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
    """The values that a share `q` of the elements over axes is not above.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        The method is unknown, or a share is not within 0 and 1.
    """
    return finished(
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
    """The values that `q` percent of the elements over axes are not above.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        The method is unknown, or a share is not within 0 and 100.
    """
    return finished(
        _compute_quantiles(a, q, axis, interpolation or method, keepdims, 100.0, "percentile"), out
    )


def median(a, axis=None, out=None, overwrite_input=None, keepdims=False):
    """The middle elements over axes, or the means of the two in the middle."""
    return finished(_compute_quantiles(a, 0.5, axis, "linear", keepdims, 1.0, "median"), out)


def _rows_to_reduce(a, q, axis, method, whole, name):
    """(the shares, the elements over axes in order in the last one, where they are, all axes)."""
    if method not in METHODS:
        raise ArgumentTypeError(
            f"mx.np.{name}: the method is one of {METHODS}, got {shown(method)}"
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
    if not count and name in ("median", "nanmedian"):  # NaN, as for the mean of nothing
        undefined = onp.full((*lengths, 1), onp.nan, onp.dtype(a.dtype))
        return shares, array_of(undefined, name), axes, a.shape
    if not count:
        raise ShapeError(f"mx.np.{name} of no elements: shape {a.shape}, axis {shown(axis)}")
    rows = shapes.transpose(a, (*rest, *axes)) if a.ndim > 1 else a
    return shares, shapes.reshape_view(rows, (*lengths, count)), axes, a.shape


def _restore_axes(found, shares, axes, shape, keepdims):
    """The quantiles of each row, one for each share, in the shape of the result."""
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


def quantile_of_rows(a, q, axis, method, keepdims, whole, name):
    """Quantiles without NaN; rows may have different numbers of elements; NaN if nothing is
    left."""
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


__all__ = ["bincount", "median", "percentile", "quantile"]
