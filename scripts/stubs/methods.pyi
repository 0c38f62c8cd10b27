from collections.abc import Sequence
from typing import Any, Literal

from ..typing import DTypeLike, ShapeLike
from .symbol import Symbol

class OperatorMethods:
    """The methods of Symbol that are operators with the symbol as first input."""

    def as_nd_ndarray(self) -> Symbol:
        """This symbol: it is of the classic face already."""
    def as_np_ndarray(self) -> Symbol:
        """The same outputs as a symbol of ``mx.sym.np``: its operators and members are NumPy's."""
    def astype(self, dtype: DTypeLike) -> Symbol:
        """This symbol's values in another type: operator Cast."""
    def expand_dims(
        self,
        axis: int,
        inplace: bool = False,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
    ) -> Symbol:
        """See ``mx.sym.expand_dims``; `inplace` says nothing of a graph."""
    def squeeze(
        self,
        axis: ShapeLike | None = None,
        inplace: bool = False,
        *,
        name: str | None = None,
        attr: dict[str, str] | None = None,
    ) -> Symbol:
        """See ``mx.sym.squeeze``; `inplace` says nothing of a graph."""
    def flatten(
        self, inplace: bool = False, *, name: str | None = None, attr: dict[str, str] | None = None
    ) -> Symbol:
        """See ``mx.sym.flatten``; `inplace` says nothing of a graph."""
    def split_v2(
        self, indices_or_sections: ShapeLike, axis: int = 0, squeeze_axis: bool = False
    ) -> Symbol:
        """See ``mx.sym.split_v2``."""
