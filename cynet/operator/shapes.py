"""What is known of a shape from two sides."""

from ..errors import ShapeError


def agree(name, given, wanted):
    """The one shape `given` and `wanted` describe, or ShapeError naming what does not fit."""
    if given is None:
        return tuple(wanted)
    if len(given) != len(wanted) or any(a and b and a != b for a, b in zip(given, wanted)):
        raise ShapeError(f"{name} has shape {tuple(given)}, expected {tuple(wanted)} (0: any)")
    return tuple(a or b for a, b in zip(given, wanted))


def require_elements(prop, shape):
    """Raise ShapeError where an input's `shape` has a size of 0, of which nothing can be made."""
    if 0 in shape:
        raise ShapeError(f"{prop.op_name}: an input of shape {shape} has no elements")
