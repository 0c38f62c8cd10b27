"""What is known of a shape: from two sides, of real arrays, and how large it may be."""

from ..._ndarray import MOST_ELEMENTS
from ...base.errors import ShapeError, SizeError, shown


class _Empty(int):
    """The length 0 of an axis that is known to have no elements.

    In inference a plain 0 is an unknown dimension; this one is true, as other known lengths are,
    and equals no 0 but itself, so that ``a or b``, ``all(shape)`` and ``a != b`` take it for what
    it is. Sums and products that are 0 because of it are it, too.
    """

    __slots__ = ()

    def __bool__(self):
        return True

    def __eq__(self, other):
        return self is other

    def __ne__(self, other):
        return self is not other

    __hash__ = int.__hash__

    def __mul__(self, other):
        return self if isinstance(other, int) else NotImplemented

    __rmul__ = __mul__

    def __add__(self, other):
        if not isinstance(other, int):
            return NotImplemented
        return int(other) or self

    __radd__ = __add__

    def __sub__(self, other):
        if not isinstance(other, int):
            return NotImplemented
        return -int(other) or self

    def __neg__(self):
        return self

    def __floordiv__(self, other):
        return self if isinstance(other, int) and int(other) else _refuse_division(other)

    def __mod__(self, other):
        return 0 if isinstance(other, int) and int(other) else _refuse_division(other)

    def __rfloordiv__(self, other):
        return _refuse_division(other)

    __rmod__ = __rfloordiv__


def _refuse_division(other):
    raise ShapeError("a length of 0 divides no other, nor is it divided by one")


EMPTY = _Empty()


def known(shape):
    """The shape of something that exists: a length of 0 in it is `EMPTY`, not unknown.

    >>> known((0, 3))[0] is EMPTY
    True
    """
    return tuple([n or EMPTY for n in shape]) if 0 in shape else tuple(shape)


def has_empty(shapes):
    """True when a length in one of these shapes is `EMPTY`."""
    return any(EMPTY in shape for shape in shapes if shape is not None)


def plain(shape):
    """A shape as an array has it, from one that inference completed.

    >>> plain((EMPTY, 3)) == (0, 3)
    True
    """
    return tuple([0 if n is EMPTY else n for n in shape])


def check_elements(shape, about):
    """Raise SizeError, which names `about`, where an array of `shape` has too many elements."""
    size = 1
    for n in shape:
        size *= max(n, 1)
    if size > MOST_ELEMENTS:
        raise SizeError(f"{about} has shape {shown(plain(shape))}, more than any memory holds")


def agree(name, given, wanted):
    """The one shape `given` and `wanted` describe, or ShapeError naming what does not fit."""
    if given is None:
        return tuple(wanted)
    if len(given) != len(wanted) or any(a and b and a != b for a, b in zip(given, wanted)):
        any_size = " (0: any)" if 0 in wanted else ""
        raise ShapeError(f"{name} has shape {tuple(given)}, expected {tuple(wanted)}{any_size}")
    return tuple(a or b for a, b in zip(given, wanted))
