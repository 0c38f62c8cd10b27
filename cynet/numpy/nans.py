"""Reductions of mx.np that leave NaN out, and running products; all with gradients."""

import numpy as onp

from . import reductions, shapes
from ._call import array_of, fill_out, refuse_other_than_floats
from .elementwise import FUNCTIONS
from .selection import where as choose
from .statistics import nan_quantile_of_rows


def _is_float(a):
    return onp.dtype(a.dtype).kind == "f"


def _fill_nans(a, value, name):
    """The array with `value` in place of NaN."""
    a = array_of(a, name)
    return choose(FUNCTIONS["isnan"](a), value, a) if _is_float(a) else a


def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """``sum`` with 0 in place of NaN."""
    a = _fill_nans(a, 0.0, "nansum")
    return reductions.sum(a, axis, dtype, out, keepdims, initial, where)


def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    """``prod`` with 1 in place of NaN."""
    a = _fill_nans(a, 1.0, "nanprod")
    return reductions.prod(a, axis, dtype, out, keepdims, initial, where)


def _make_nan_extremum(name, reduce, limit):
    def function(a, axis=None, out=None, keepdims=False, initial=None, where=True):
        a = array_of(a, name)
        if not _is_float(a):
            return reduce(a, axis, out, keepdims, initial, where)
        found = reduce(_fill_nans(a, limit, name), axis, None, keepdims, initial, where)
        if initial is None:
            nothing = reductions.all(FUNCTIONS["isnan"](a), axis, keepdims=keepdims)
            found = choose(nothing, float("nan"), found)
        return fill_out(found, out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``: the extreme over axes of what is not NaN; else NaN."
    return function


nanmax = _make_nan_extremum("nanmax", reductions.max, float("-inf"))
nanmin = _make_nan_extremum("nanmin", reductions.min, float("inf"))


def _count_numbers(a, axis, where):
    numbers = ~FUNCTIONS["isnan"](a)
    if where is not True:
        numbers = FUNCTIONS["logical_and"](numbers, array_of(where, "where"))
    return reductions.sum(numbers, axis, keepdims=True)


def _mean_without_nans(a, axis, where):
    total = nansum(a, axis, keepdims=True, where=where)
    return total / _count_numbers(a, axis, where).astype(a.dtype)


def _as_float_array(a, dtype, name):
    a = array_of(a, name)
    refuse_other_than_floats(dtype, f"mx.np.{name}")
    if dtype is not None:
        return a.astype(dtype)
    return a if _is_float(a) else a.astype("float32")


def _store_reduction(found, axis, keepdims, out):
    return fill_out(found if keepdims else reductions.drop_reduced_axes(found, axis), out)


def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, where=True):
    """The mean without NaN; NaN if nothing is left."""
    a = _as_float_array(a, dtype, "nanmean")
    return _store_reduction(_mean_without_nans(a, axis, where), axis, keepdims, out)


def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True, correction=None):
    """The variance without NaN; NaN if no more than `ddof` elements are left."""
    a = _as_float_array(a, dtype, "nanvar")
    ddof = ddof if correction is None else correction
    centred = _fill_nans(a, 0.0, "nanvar") - _mean_without_nans(a, axis, where)
    centred = choose(FUNCTIONS["isnan"](a), 0.0, centred)
    left = (_count_numbers(a, axis, where) - ddof).astype(a.dtype)
    total = reductions.sum(centred * centred, axis, keepdims=True, where=where)
    return _store_reduction(total / choose(left > 0, left, float("nan")), axis, keepdims, out)


def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True, correction=None):
    """The standard deviation without NaN."""
    spread = nanvar(a, axis, dtype, None, ddof, keepdims, where, correction)
    return fill_out(FUNCTIONS["sqrt"](spread), out)


def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    """``quantile`` without NaN."""
    return fill_out(nan_quantile_of_rows(a, q, axis, method, keepdims, 1.0, "nanquantile"), out)


def nanpercentile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False
):
    """``percentile`` without NaN."""
    return fill_out(nan_quantile_of_rows(a, q, axis, method, keepdims, 100.0, "nanpercentile"), out)


def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    """``median`` without NaN."""
    return fill_out(nan_quantile_of_rows(a, 0.5, axis, "linear", keepdims, 1.0, "nanmedian"), out)


def cumprod(a, axis=None, dtype=None, out=None):
    """Running products along an axis, or of all elements in order; small integers give int64."""
    a = array_of(a, "cumprod")
    if dtype is None and not _is_float(a):
        dtype = "int64"
    a = a if dtype is None else a.astype(dtype)
    if axis is None or a.ndim == 0:
        a, axis = shapes.ravel(a), 0
    (axis,) = reductions.axes_of(axis, a.ndim, "cumprod")
    length, step = a.shape[axis], 1
    front = (slice(None),) * axis
    while step < length:  # each is the product of the last 2, 4, 8 and so on
        head = a[(*front, slice(None, step))]
        tail = a[(*front, slice(step, None))] * a[(*front, slice(None, length - step))]
        a = shapes.concatenate([head, tail], axis)
        step *= 2
    return fill_out(a * 1 if length < 2 else a, out)


def nancumprod(a, axis=None, dtype=None, out=None):
    """``cumprod`` with 1 in place of NaN."""
    return cumprod(_fill_nans(a, 1.0, "nancumprod"), axis, dtype, out)


def nancumsum(a, axis=None, dtype=None, out=None):
    """``cumsum`` with 0 in place of NaN."""
    return reductions.cumsum(_fill_nans(a, 0.0, "nancumsum"), axis, dtype, out)


def cumulative_prod(x, axis=None, dtype=None, out=None, include_initial=False):
    """``cumprod`` along the only axis, or a given axis; optionally with a 1 in front."""
    x = array_of(x, "cumulative_prod")
    if axis is None and x.ndim == 1:
        axis = 0
    found = cumprod(x, axis, dtype)
    if include_initial:
        shape = tuple(1 if i == (axis or 0) % found.ndim else n for i, n in enumerate(found.shape))
        one = array_of(onp.ones(shape, onp.dtype(found.dtype)), "cumulative_prod")
        found = shapes.concatenate([one, found], axis or 0)
    return fill_out(found, out)


__all__ = [
    "cumprod",
    "cumulative_prod",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
]
