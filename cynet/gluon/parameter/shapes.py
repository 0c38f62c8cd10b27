"""Shapes of parameters, with dimensions that may be unknown."""

from ...base.errors import ArgumentError, ArgumentTypeError, shown
from ...base.guard import guarded
from ...base.kinds import is_single_int
from ...base.np_shape import is_np_shape


@guarded
def shape_is_known(shape):
    """Return whether every dimension of a shape is known: 0, -1 and the shape ``()`` are unknown.

    Under ``np_shape`` 0 is a size, and ``()`` a number's shape.

    Parameters
    ----------
    shape : tuple of int or None
        None: nothing is known.

    Returns
    -------
    bool

    Examples
    --------
    >>> shape_is_known((2, 3)), shape_is_known((2, 0)), shape_is_known(()), shape_is_known(None)
    (True, False, False, False)
    """
    if shape is None:
        return False
    if is_np_shape():
        return all(n >= 0 for n in shape)
    return len(shape) > 0 and all(n > 0 for n in shape)


def has_known_sizes(shape):
    """Return whether all dimensions are greater than 0, so that the array can be created."""
    return shape_is_known(shape) and 0 not in shape


def merge_shapes(known, given):
    """Return the shape that fits both, or None if they differ; 0 is an unknown dimension.

    >>> merge_shapes((2, 0), (0, 3)), merge_shapes((2, 3), (2, 4))
    ((2, 3), None)
    """
    if known is None or given is None:
        return given if known is None else known
    if len(known) != len(given):
        return None
    out = []
    for a, b in zip(known, given):
        if a > 0 and b > 0 and a != b:
            return None
        out.append(a if a > 0 else b)
    return tuple(out)


def check_shape(name, shape):
    if shape is None:
        return None
    if is_single_int(shape):
        shape = (shape,)
    try:
        out = tuple(int(n.__index__()) for n in shape)
    except (TypeError, AttributeError):
        raise ArgumentTypeError(
            f"Parameter '{name}': a shape is a tuple of ints, got {shown(shape)}"
        ) from None
    if any(n < -1 for n in out):
        raise ArgumentError(f"Parameter '{name}': shape {out} has a negative size")
    return tuple(max(n, 0) for n in out)
