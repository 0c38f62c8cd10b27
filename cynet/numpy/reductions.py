"""Reductions of mx.np: over all axes, one or several; a result without axes has the shape ()."""

import numpy as onp

from ..base.dtype import FLAGS, dtype_flag, scalar_type
from ..base.errors import ArgumentTypeError, BoundsError
from ..ndarray.ndarray import NDArray
from ._call import array_of, fill_out, ops, refuse_other_than_floats, split_out_keepdims

_FLOAT_DTYPES = ("float16", "float32", "float64", "bfloat16")


_KIND_BY_FLAG = {flag: onp.dtype(scalar_type(name)).kind for name, flag in FLAGS.items()}


def _dtype_kind(array):
    if isinstance(array, NDArray):
        return _KIND_BY_FLAG[array.dtype_flag]
    return onp.dtype(array.dtype).kind if array.dtype is not None else "f"


def axes_of(axis, ndim, where):
    """The axes as a tuple of nonnegative numbers, or None for all.

    Raises
    ------
    BoundsError, ArgumentTypeError
    """
    if axis is None:
        return None
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    found = []
    for each in axes:
        if not hasattr(each, "__index__"):
            raise ArgumentTypeError(f"mx.np.{where}: an axis is an int, got {each!r}")
        number = each.__index__()
        if not -ndim <= number < ndim:
            raise BoundsError(
                f"mx.np.{where}: axis {number} is out of bounds for an array of {ndim} axes"
            )
        found.append(number % ndim)
    if len(set(found)) < len(found):
        raise ArgumentTypeError(f"mx.np.{where}: an axis is given twice in {axis}")
    return tuple(found)


def _reduce_axes(operator, a, axis, keepdims, where):
    axes = axes_of(axis, a.ndim, where)
    if axes == () or a.ndim == 0:  # nothing to reduce
        return None
    run = operator if callable(operator) else getattr(ops, operator)
    return run(a, axis=axes, keepdims=bool(keepdims))


def _fill_outside_mask(a, where, other):
    """The elements where the mask `where` is True; elsewhere `other`."""
    from .selection import where as choose

    a = array_of(a, "where")
    return choose(where, a, onp.dtype(a.dtype).type(other))


def _count_elements(a, where, axis):
    """Return the number of True mask elements per reduced group, with keepdims."""
    from .shapes import broadcast_to

    return sum(broadcast_to(array_of(where, "where"), a.shape), axis, keepdims=True)


def _make_sum_function(name, unit, combine):
    operator = f"_np_{name}"
    run = getattr(ops, operator)

    def function(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
        a = array_of(a, name)
        out, keepdims = split_out_keepdims(out, keepdims)
        if where is not True:
            a = _fill_outside_mask(a, where, unit)
        if axis is None and dtype is None and out is None and initial is None and a.ndim:
            return run(a, keepdims=True) if keepdims else run(a)
        if dtype is not None and onp.dtype(dtype) != a.dtype:
            a = a.astype(dtype)
        result = _reduce_axes(operator, a, axis, keepdims, name)
        if result is None:
            wide = dtype is None and _dtype_kind(a) in "biu"
            result = a.astype("int64") if wide else a * 1
        if dtype is not None and result.dtype != onp.dtype(dtype):
            result = result.astype(dtype)
        if initial is not None:
            result = combine(result, initial)
        return fill_out(result, out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"``numpy.{name}``: over axes; small integers and bools give int64, floats their dtype."
    )
    return function


sum = _make_sum_function("sum", 0, lambda a, b: a + b)
prod = _make_sum_function("prod", 1, lambda a, b: a * b)


def mean(a, axis=None, dtype=None, out=None, keepdims=False, where=True):
    """The arithmetic mean over axes; integers and bools give float32."""
    a = array_of(a, "mean")
    if dtype is not None and _KIND_BY_FLAG[dtype_flag(dtype)] != "f":
        whole = mean(a.astype(dtype), axis, keepdims=keepdims, where=where)
        return fill_out(whole.astype(dtype), out)
    if dtype is not None and onp.dtype(dtype) != a.dtype:
        a = a.astype(dtype)
    if where is not True:
        total = sum(_fill_outside_mask(a, where, 0), axis, keepdims=True) / _count_elements(
            a, where, axis
        )
        total = total.astype(a.dtype if _dtype_kind(a) == "f" else "float32")
        return fill_out(total if keepdims else drop_reduced_axes(total, axis), out)
    result = _reduce_axes(ops._npi_mean, a, axis, keepdims, "mean")
    return fill_out(a / 1 if result is None else result, out)


def _extremum_function(name, choose):
    operator = f"_np_{name}"

    def function(a, axis=None, out=None, keepdims=False, initial=None, where=True):
        a = array_of(a, name)
        out, keepdims = split_out_keepdims(out, keepdims)
        if where is not True:
            if initial is None:
                raise ArgumentTypeError(
                    f"mx.np.{name}: 'where' may leave nothing, so that 'initial' is needed"
                )
            a = _fill_outside_mask(a, where, initial)
        result = _reduce_axes(operator, a, axis, keepdims, name)
        result = a.copy() if result is None else result
        if initial is not None:
            from .elementwise import FUNCTIONS

            initial = onp.bool_(initial) if _dtype_kind(a) == "b" else initial
            result = FUNCTIONS[choose](result, initial)
        return fill_out(result, out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``: the {choose} over axes; NaN where one is."
    return function


max = amax = _extremum_function("max", "maximum")
min = amin = _extremum_function("min", "minimum")


def _truth_function(name):
    operator = f"_np_{name}"

    def function(a, axis=None, out=None, keepdims=False, where=True):
        a = array_of(a, name)
        out, keepdims = split_out_keepdims(out, keepdims)
        truths = a if _dtype_kind(a) == "b" else a != 0
        if where is not True:
            truths = _fill_outside_mask(truths, where, name == "all")
        result = _reduce_axes(operator, truths, axis, keepdims, name)
        return fill_out(truths if result is None else result, out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``: whether {name} elements over axes are not 0, as bools."
    return function


any, all = _truth_function("any"), _truth_function("all")


def _arg_extremum_function(name):
    run = getattr(ops, f"_npi_{name}")

    def function(a, axis=None, out=None, keepdims=False):
        a = array_of(a, name)
        if _dtype_kind(a) == "b":
            a = a.astype("uint8")
        if axis is None and out is None and not keepdims and a.ndim:
            return run(a)
        if a.ndim == 0:
            a = a.reshape((1,))
            return fill_out(run(a, axis=0), out)
        axes = axes_of(axis, a.ndim, name)
        return fill_out(
            run(a, axis=None if axes is None else axes[0], keepdims=bool(keepdims)), out
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"``numpy.{name}``: the place of the extreme, the first of equal ones; int64."
    )
    return function


argmax, argmin = _arg_extremum_function("argmax"), _arg_extremum_function("argmin")


def drop_reduced_axes(a, axis):
    """An array without the axes of length 1 that a reduction left."""
    from .shapes import reshape_view

    axes = axes_of(axis, a.ndim, "mean")
    axes = range(a.ndim) if axes is None else axes
    return reshape_view(a, tuple(n for i, n in enumerate(a.shape) if i not in axes))


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, correction=None, where=True):
    """The variance over axes; integers and bools are converted to floats."""
    a = array_of(a, "var")
    refuse_other_than_floats(dtype, "mx.np.var")
    if dtype is not None:
        a = a.astype(dtype)
    elif _dtype_kind(a) != "f":
        a = a.astype("float32")
    ddof = ddof if correction is None else correction
    if where is not True:
        centred = a - mean(a, axis, keepdims=True, where=where)
        total = sum(_fill_outside_mask(centred * centred, where, 0), axis, keepdims=True)
        left = (_count_elements(a, where, axis) - ddof).astype(a.dtype)
        total = total / _fill_outside_mask(left, left > 0, 0)
        return fill_out(total if keepdims else drop_reduced_axes(total, axis), out)
    axes = axes_of(axis, a.ndim, "var")
    count = 1
    for each in range(a.ndim) if axes is None else axes:
        count *= a.shape[each]
    if a.ndim and axes != () and count > ddof:  # operators: functions would repeat the checks
        over = {} if axes is None else {"axis": axes}
        centred = a - ops._npi_mean(a, keepdims=True, **over)
        squares = centred * centred
        if not ddof:
            return fill_out(ops._npi_mean(squares, keepdims=bool(keepdims), **over), out)
        total = ops._np_sum(squares, keepdims=bool(keepdims), **over)
        return fill_out(total / (count - ddof), out)
    centred = a - mean(a, axis, keepdims=True)
    squares = sum(centred * centred, axis, keepdims=keepdims)
    return fill_out(squares / (count - ddof) if count > ddof else squares * float("nan"), out)


def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, correction=None, where=True):
    """The standard deviation over axes, of floats."""
    return fill_out(ops.sqrt(var(a, axis, dtype, None, ddof, keepdims, correction, where)), out)


def cumsum(a, axis=None, dtype=None, out=None):
    """Running sums along an axis, or of all elements in order; small integers give int64."""
    a = array_of(a, "cumsum")
    if axis is None and dtype is None and out is None and a.ndim and _dtype_kind(a) == "f":
        return ops._np_cumsum(a)
    if dtype is None and _dtype_kind(a) in "biu":
        dtype = "int64"
    if dtype is not None and a.dtype != onp.dtype(dtype):
        a = a.astype(dtype)
    if a.ndim == 0:
        a = a.reshape((1,))
    axes = axes_of(axis, a.ndim, "cumsum")
    return fill_out(ops._np_cumsum(a, axis=None if axes is None else axes[0]), out)


def average(a, axis=None, weights=None, returned=False, keepdims=False, out=None):
    """The mean over axes, each element with a weight."""
    a = array_of(a, "average")
    if weights is None:
        result = fill_out(mean(a, axis, keepdims=keepdims), out)
        if not returned:
            return result
        scale = a.size / result.size
        return result, result * 0 + scale
    weights = array_of(weights, "average")
    if weights.shape != a.shape:
        axes = axes_of(axis, a.ndim, "average")
        if axes is None or len(axes) != 1 or weights.shape != (a.shape[axes[0]],):
            raise ArgumentTypeError(
                f"mx.np.average: weights of shape {weights.shape} for an array of {a.shape}"
            )
        weights = weights.reshape([-1 if i == axes[0] else 1 for i in range(a.ndim)])
    total = sum(weights + a * 0, axis, keepdims=keepdims)
    result = fill_out(sum(a * weights, axis, keepdims=keepdims) / total, out)
    return (result, total) if returned else result


def ptp(a, axis=None, out=None, keepdims=False):
    """The range of values over axes: largest minus smallest."""
    return fill_out(max(a, axis, keepdims=keepdims) - min(a, axis, keepdims=keepdims), out)


def count_nonzero(a, axis=None, keepdims=False):
    """Return how many elements over axes are not 0, int64."""
    a = array_of(a, "count_nonzero")
    return sum(a if _dtype_kind(a) == "b" else a != 0, axis, keepdims=keepdims)


alltrue, sometrue, product = all, any, prod

__all__ = [
    "all",
    "alltrue",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "average",
    "count_nonzero",
    "cumsum",
    "max",
    "mean",
    "min",
    "prod",
    "product",
    "ptp",
    "sometrue",
    "std",
    "sum",
    "var",
]
