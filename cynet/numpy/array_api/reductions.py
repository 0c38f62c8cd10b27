"""Statistics, truths and running sums of the array API."""

import numpy as onp

from .. import reductions, selection, shapes
from .._call import array_of
from ..creation import array, ones, zeros
from .dtypes import default_dtype


def _cast_to_sum_dtype(x, dtype):
    """`x` in the dtype of its sums: at least int64 for ints, the same for floats."""
    x = array_of(x, "array_api")
    if dtype is None and x.dtype.kind in "iu":
        dtype = default_dtype("i")
    return x if dtype is None else x.astype(dtype, copy=False)


def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """Sums over axes; integers give int64."""
    x = _cast_to_sum_dtype(x, dtype)
    return reductions.sum(x, axis, x.dtype, keepdims=keepdims)


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """Products over axes; integers give int64."""
    x = _cast_to_sum_dtype(x, dtype)
    return reductions.prod(x, axis, x.dtype, keepdims=keepdims)


def max(x, /, *, axis=None, keepdims=False):
    """The largest elements over axes; NaN where one is."""
    return reductions.max(x, axis, keepdims=keepdims)


def min(x, /, *, axis=None, keepdims=False):
    """The smallest elements over axes; NaN where one is."""
    return reductions.min(x, axis, keepdims=keepdims)


def mean(x, /, *, axis=None, keepdims=False):
    """The arithmetic means over axes."""
    return reductions.mean(x, axis, keepdims=keepdims)


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The standard deviations over axes."""
    return reductions.std(x, axis, ddof=correction, keepdims=keepdims)


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variances over axes."""
    return reductions.var(x, axis, ddof=correction, keepdims=keepdims)


def all(x, /, *, axis=None, keepdims=False):
    """Return whether all elements over axes are not 0."""
    return reductions.all(x, axis, keepdims=keepdims)


def any(x, /, *, axis=None, keepdims=False):
    """Return whether any elements over axes are not 0."""
    return reductions.any(x, axis, keepdims=keepdims)


def argmax(x, /, *, axis=None, keepdims=False):
    """The indices of the largest elements, the first of equal ones."""
    return reductions.argmax(x, axis, keepdims=keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """The indices of the smallest elements, the first of equal ones."""
    return reductions.argmin(x, axis, keepdims=keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """Return how many elements over axes are not 0."""
    return reductions.count_nonzero(x, axis, keepdims)


def _cumulate(x, axis, dtype, include_initial, name):
    x = _cast_to_sum_dtype(x, dtype)
    axis = (
        (0 if x.ndim == 1 else reductions.axes_of(axis, x.ndim, name)[0])
        if axis is None and x.ndim == 1
        else reductions.axes_of(axis, x.ndim, name)[0]
    )
    if name == "cumulative_sum":
        out = reductions.cumsum(x, axis, x.dtype)
    else:
        out = array(onp.cumprod(x.asnumpy(), axis, x.dtype), x.dtype, x.ctx)
    if include_initial:
        first = x.shape[:axis] + (1,) + x.shape[axis + 1 :]
        start = (zeros if name == "cumulative_sum" else ones)(first, out.dtype, ctx=x.ctx)
        out = shapes.concatenate([start, out], axis)
    return out


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running sums along an axis, which begin with a 0 if `include_initial`."""
    return _cumulate(x, axis, dtype, include_initial, "cumulative_sum")


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Running products along an axis, which begin with a 1 if `include_initial`."""
    return _cumulate(x, axis, dtype, include_initial, "cumulative_prod")


def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """Differences of neighbours along an axis, n times."""
    parts = [each for each in (prepend, x, append) if each is not None]
    return selection.diff(shapes.concatenate(parts, axis) if len(parts) > 1 else x, n, axis)


__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]
