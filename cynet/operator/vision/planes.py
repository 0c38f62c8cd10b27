"""Shapes of operators on planes (N, C, H, W)."""

from ...base.errors import ShapeError, SizeError
from ..checks.shapes import EMPTY, unify_shapes

MAX_PIXELS = (1 << 31) - 1  # maximum of pixels of a plane, so that offsets in it fit 32 bits


def require_four_axes(name, shape):
    """Return `shape`, or four unknown lengths for None; raise ShapeError unless it has four axes,
    SizeError if a plane has too many pixels."""
    if shape is None:
        return (0, 0, 0, 0)
    if len(shape) != 4:
        raise ShapeError(f"{name} has shape {tuple(shape)}, expected four axes (N, C, H, W)")
    if shape[2] * shape[3] > MAX_PIXELS:
        raise SizeError(
            f"{name} has planes of {shape[2]} x {shape[3]} pixels, the most is {MAX_PIXELS}"
        )
    return shape


def has_zero_length(*lengths):
    """Return whether a length is known to be 0."""
    return any(n is EMPTY for n in lengths)


def unify_planes(name, given, wanted):
    """The shape that fits both `given`, of four axes or None, and `wanted`."""
    return require_four_axes(
        name, unify_shapes(name, None if given is None else require_four_axes(name, given), wanted)
    )
