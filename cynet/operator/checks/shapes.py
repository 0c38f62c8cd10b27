"""Shapes: unification of two shapes, known and unknown lengths, and limits of size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._ndarray import MAX_ELEMENTS
from ...base.errors import ArgumentTypeError, ShapeError, SizeError, shown
from ...base.np_shape import is_np_shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import NoReturn


MAX_NDIM = 8  # the same as MAX_NDIM in _typedefs.pxd


def require_shape_tuple(where: str, *given: Any) -> None:
    """Raise ArgumentTypeError if a shape is given as several ints, as other packages allow."""
    count = next((i for i, n in enumerate(given) if type(n) is not int), len(given))
    if count > 1:
        raise ArgumentTypeError(
            f"{where}: the shape is one tuple, {given[:count]}, got {count} ints one by one"
        )


class _EmptyLength(int):  # a known 0; a plain 0 is an unknown length
    """The length 0 of an axis that is known to have no elements.

    In inference a plain 0 is an unknown dimension; this one is true, as other known lengths are,
    and equals no 0 but itself, so that ``a or b``, ``all(shape)`` and ``a != b`` take it for what
    it is. Sums and products that are 0 because of it are it, too.
    """

    __slots__ = ()

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = int.__hash__

    def __mul__(self, other: Any) -> Any:
        return self if isinstance(other, int) else NotImplemented

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        return int(other) or self

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, int):
            return NotImplemented
        return -int(other) or self

    def __neg__(self) -> _EmptyLength:
        return self

    def __floordiv__(self, other: Any) -> Any:
        return self if isinstance(other, int) and int(other) else _refuse_division(other)

    def __mod__(self, other: Any) -> Any:
        return 0 if isinstance(other, int) and int(other) else _refuse_division(other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _refuse_division(other)

    __rmod__ = __rfloordiv__


def _refuse_division(other: object) -> NoReturn:
    raise ShapeError("a length of 0 divides no other, nor is it divided by one")


EMPTY = _EmptyLength()  # length of an axis that is known to have no elements


def known_shape(shape: Iterable[int]) -> tuple[int, ...]:
    """Return the shape of an existing array: a length of 0 becomes `EMPTY`, which is not unknown.

    >>> known_shape((0, 3))[0] is EMPTY
    True
    """
    return tuple([n or EMPTY for n in shape]) if 0 in shape else tuple(shape)


def has_empty_axis(shapes: Iterable[Any]) -> bool:
    """True when a length in one of these shapes is `EMPTY`."""
    return any(EMPTY in shape for shape in shapes if shape is not None)


def plain_shape(shape: Iterable[int]) -> tuple[int, ...]:
    """An inferred shape in the form of an array's shape.

    >>> plain_shape((EMPTY, 3)) == (0, 3)
    True
    """
    return tuple([0 if n is EMPTY else n for n in shape])


def declared_shape(shape: Iterable[int] | None) -> tuple[int, ...] | None:
    """Convert a declared shape for inference: the switch ``mx.util.np_shape`` says if 0 is unknown.

    Without it 0 and -1 are unknown (0 in inference) and () is an unknown shape (None), under it 0
    is a size (`EMPTY`) and -1 unknown.

    >>> declared_shape((-1, 0, 3)), declared_shape(())
    ((0, 0, 3), None)
    """
    if shape is None:
        return None
    if is_np_shape():
        return tuple([n or EMPTY if n >= 0 else 0 for n in shape])
    return tuple([max(n, 0) for n in shape]) or None


def message_shape(shape: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Convert an inferred shape for messages: the inverse of `declared_shape`."""
    if is_np_shape():
        return shape if shape is None else tuple([0 if n is EMPTY else n or -1 for n in shape])
    return () if shape is None else plain_shape(shape)


def check_elements(shape: tuple[int, ...], about: str) -> None:
    """Refuse, naming `about`, a shape of too many elements (SizeError) or axes (ShapeError)."""
    if len(shape) > MAX_NDIM:
        raise ShapeError(
            f"{about} has {len(shape)} axes, {shown(plain_shape(shape))}; an NDArray has at most "
            f"{MAX_NDIM}"
        )
    size = 1
    for n in shape:
        size *= max(n, 1)
    if size > MAX_ELEMENTS:
        raise SizeError(
            f"{about} has shape {shown(plain_shape(shape))}, more than any memory holds"
        )


def unify_shapes(name: str, given: Sequence[int] | None, wanted: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that fits both `given` and `wanted`, or raise ShapeError."""
    if given is None:
        return tuple(wanted)
    if len(given) != len(wanted) or any(a and b and a != b for a, b in zip(given, wanted)):
        any_size = " (0: any)" if 0 in wanted else ""
        raise ShapeError(f"{name} has shape {tuple(given)}, expected {tuple(wanted)}{any_size}")
    return tuple(a or b for a, b in zip(given, wanted))
