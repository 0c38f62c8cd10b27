"""Axis parameters: negative numbers, sets of axes, checks."""

from math import prod

from ...base.errors import ArgumentError, ShapeError


def axis_of(axis, ndim, what="axis"):
    """`axis` counted from the front; ArgumentError when an array of `ndim` axes has no such one.

    >>> axis_of(-1, 3)
    2
    """
    if not -ndim <= axis < ndim:
        raise ArgumentError(f"{what} {axis} is out of range for an array of {ndim} axes")
    return axis % ndim


def normalize_axis(axis, shape):
    """`axis` of data of `shape`, counted from the front; ShapeError if it does not exist.

    >>> normalize_axis(-1, (2, 3, 4))
    2
    """
    if not -len(shape) <= axis < len(shape):
        raise ShapeError(f"axis {axis} is out of range for data of shape {tuple(shape)}")
    return axis % len(shape)


def axes_of(axes, ndim, exclude=False):
    """The sorted axes in `axes` (None or empty: all); with `exclude` all axes but these.

    >>> axes_of((0,), 3, exclude=True)
    (1, 2)
    """
    if not axes:
        return tuple(range(ndim))
    found = sorted(axis_of(a, ndim) for a in axes)
    if len(set(found)) != len(found):
        raise ArgumentError(f"axes {tuple(axes)} name one axis twice")
    if exclude:
        return tuple(i for i in range(ndim) if i not in found)
    return tuple(found)


def sizes_around_axis(shape, axis):
    """Products of the lengths before and after `axis`, and its own: (outer, length, inner)."""
    outer = inner = 1
    for n in shape[:axis]:
        outer *= n
    for n in shape[axis + 1 :]:
        inner *= n
    return outer, shape[axis], inner


def params_along_axis(shape, axis):
    """`sizes_around_axis` with the kernels' names for it; None takes the whole array as a line.

    >>> params_along_axis((2, 3, 4), 1)
    {'outer': 2, 'n': 3, 'inner': 4}
    """
    if axis is None:
        shape, axis = (prod(shape),), 0
    return dict(zip(("outer", "n", "inner"), sizes_around_axis(shape, axis_of(axis, len(shape)))))
