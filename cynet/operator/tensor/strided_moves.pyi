"""Types of strided_moves.pyx."""

from collections.abc import Sequence
from typing import NamedTuple

from .._base import Operator

class View(NamedTuple):
    """A strided view of an array, in elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

class StridedPart(NamedTuple):
    """View `source` of input number `index` becomes view `target` of output number `to`."""

    source: View
    target: View
    index: int = 0
    to: int = 0

def whole_view(shape: Sequence[int]) -> View:
    """The View of a whole array of `shape`."""

def subview(view: View, begin: Sequence[int], step: Sequence[int], shape: Sequence[int]) -> View:
    """The View that starts at index `begin` of `view` and goes by `step`, `shape` long."""

class StridedCopyOperator(Operator):
    """Moves pieces of inputs into outputs."""

    def __init__(
        self,
        dtype: str,
        pieces: list[StridedPart],
        uncovered: tuple[int, ...] = (),
        fill: float | None = None,
    ) -> None: ...
