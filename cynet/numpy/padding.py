"""np.pad in all of NumPy's modes, with gradients."""

import numpy as onp

from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, shown
from . import reductions, shapes, statistics
from ._call import array_of
from .creation import empty, full

_INDEX_MODES = ("edge", "reflect", "symmetric", "wrap")  # borders made of the array's elements
_STATISTIC_MODES = {  # mode -> function of the elements at a border
    "maximum": reductions.max,
    "minimum": reductions.min,
    "mean": reductions.mean,
    "median": statistics.median,
}
_MODE_PARAMETERS = {  # the parameters of each mode in addition to `pad_width`
    "constant": "constant_values",
    "linear_ramp": "end_values",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    **dict.fromkeys(_STATISTIC_MODES, "stat_length"),
}


def pad(array, pad_width, mode="constant", **kwargs):
    """The array with more elements around it; modes and parameters are as in ``numpy.pad``.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        The mode is unknown, a parameter is not of that mode, or a width is negative.
    """
    array = array_of(array, "pad")
    widths = _pad_widths(pad_width, array.ndim)
    if callable(mode):
        return _pad_by_function(array, widths, mode, kwargs)
    if mode not in ("constant", "empty", "linear_ramp", *_INDEX_MODES, *_STATISTIC_MODES):
        raise ArgumentError(f"mx.np.pad: the mode {shown(mode)} is not known")
    odd = sorted(kwargs.keys() - {_MODE_PARAMETERS.get(mode)})
    if odd:
        raise ArgumentTypeError(f"mx.np.pad: mode {mode!r} takes no {', '.join(odd)}")
    values = {
        key: _pairs_per_axis(value, array.ndim) if key != "reflect_type" else value
        for key, value in kwargs.items()
    }
    for axis, (before, after) in enumerate(widths):
        if before or after:
            array = _pad_axis(array, axis, before, after, mode, values)
    return array if any(map(any, widths)) else array.copy()


def _pad_widths(pad_width, ndim):
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(i, pad_width.get(i - ndim, 0)) for i in range(ndim)]
        pad_width = [
            each if isinstance(each, (tuple, list)) else (each, each) for each in pad_width
        ]
    host = onp.asarray(pad_width)
    if host.dtype.kind not in "iu":
        raise ArgumentTypeError(f"mx.np.pad: widths are ints, got {shown(pad_width)}")
    if (host < 0).any():
        raise ArgumentError(f"mx.np.pad: a width in {shown(pad_width)} is negative")
    return [(int(a), int(b)) for a, b in _pairs_per_axis(host, ndim)]


def _pairs_per_axis(value, ndim):
    try:
        return onp.broadcast_to(onp.asarray(value), (ndim, 2)).tolist() if ndim else []
    except ValueError:
        raise ShapeError(f"mx.np.pad: {shown(value)} is no pair for each of {ndim} axes") from None


def _pad_axis(array, axis, before, after, mode, values):
    n = array.shape[axis]
    if mode in _INDEX_MODES:
        if not n:
            raise ArgumentError(f"mx.np.pad: axis {axis} is empty, which mode {mode!r} cannot pad")
        indices = onp.pad(onp.arange(n), (before, after), mode)
        if values.get("reflect_type", "even") == "even":
            return shapes.take(array, indices, axis)
        return _pad_by_weights(
            array,
            axis,
            lambda x: onp.pad(x, _first_axis_pads(before, after, x), mode, reflect_type="odd"),
        )
    if mode == "linear_ramp":
        ends = values.get("end_values", [[0, 0]] * array.ndim)[axis]
        return _pad_by_weights(
            array, axis, lambda x: onp.pad(x, _first_axis_pads(before, after, x), mode), ends
        )
    parts = []
    for width, side in ((before, 0), (after, 1)):
        if not width:
            parts.append(None)
            continue
        shape = (*array.shape[:axis], width, *array.shape[axis + 1 :])
        if mode == "empty":
            parts.append(empty(shape, array.dtype))
        elif mode == "constant":
            number = values.get("constant_values", [[0, 0]] * array.ndim)[axis][side]
            parts.append(full(shape, number, onp.dtype(array.dtype).name))
        else:
            length = values.get("stat_length", [[None, None]] * array.ndim)[axis][side]
            parts.append(_pad_by_statistic(array, axis, length, side, mode, shape))
    first, last = parts
    return shapes.concatenate([e for e in (first, array, last) if e is not None], axis)


def _pad_by_statistic(array, axis, length, side, mode, shape):
    n = array.shape[axis]
    length = n if length is None else min(int(length), n)
    if not length:
        raise ArgumentError(f"mx.np.pad: mode {mode!r} has no elements to look at in axis {axis}")
    key = (slice(None),) * axis + (slice(n - length, n) if side else slice(0, length),)
    found = _STATISTIC_MODES[mode](array[key], axis, keepdims=True)
    if onp.dtype(array.dtype).kind != "f":  # rounded, as NumPy does
        from .selection import rint

        found = (rint(found) if onp.dtype(found.dtype).kind == "f" else found).astype(array.dtype)
    return shapes.broadcast_to(found.astype(array.dtype), shape)


def _first_axis_pads(before, after, x):
    return [(before, after), *[(0, 0)] * (x.ndim - 1)]


def _pad_by_weights(array, axis, padded, ends=(0, 0)):
    """Pad by a mode whose new elements are weighted sums of the axis; `ends` are ends of a ramp."""
    from .products import matmul

    kind = onp.dtype(array.dtype)
    weights = padded(onp.eye(array.shape[axis]))
    wide = array.astype("float64" if kind.kind != "f" or kind.itemsize == 8 else "float32")
    rows = shapes.moveaxis(wide, axis, -1)
    found = matmul(rows, array_of(weights.T.astype(rows.dtype), "pad"))
    if any(ends):
        n, size = array.shape[axis], weights.shape[0]
        share = 1.0 - weights.sum(1)  # the remaining weight belongs to the end value
        before = onp.arange(size) < (
            size - n if weights[-1, -1] == 1 else _count_leading_rows(weights)
        )
        found = found + array_of(
            (share * onp.where(before, ends[0], ends[1])).astype(rows.dtype), "pad"
        )
    found = shapes.moveaxis(found, -1, axis)
    if kind.kind != "f":
        from .elementwise import FUNCTIONS

        found = FUNCTIONS["floor"](found + 1e-9)
    return found.astype(kind)


def _count_leading_rows(weights):
    """The number of padded rows before the first element."""
    return int((weights[:, 0] == 1).argmax())


def _pad_by_function(array, widths, function, kwargs):
    """Pad with zeros by NumPy, then call a user's function that writes vectors in place."""
    from .dispatch import call_numpy

    return call_numpy(onp.pad, (array, widths, function), kwargs)


__all__ = ["pad"]
