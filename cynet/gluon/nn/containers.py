"""Sequential and HybridSequential: Blocks one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from ...base.errors import BoundsError, shown, warn_user
from ...base.guard import PER_BATCH_METHODS, guarded
from ..block import Block, HybridBlock

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["HybridSequential", "Sequential"]

_ContainerType = TypeVar("_ContainerType", bound="_Container")


@guarded(but=(*PER_BATCH_METHODS, "hybrid_forward"))
class _Container(Block):  # base of Sequential and HybridSequential
    """Base of Sequential and HybridSequential: access to their Blocks."""

    def add(self, *blocks: Block) -> None:
        """Append Blocks.

        Parameters
        ----------
        *blocks : Block
            One or more Blocks.
        """
        for each in blocks:
            self.register_child(each)

    def __len__(self) -> int:
        return len(self._children)

    def __iter__(self) -> Iterator[Block]:
        return iter(list(self._children.values()))

    @overload
    def __getitem__(self: _ContainerType, key: int) -> Block: ...
    @overload
    def __getitem__(self: _ContainerType, key: slice) -> _ContainerType: ...
    def __getitem__(self, key):
        """Return a Block, or for a slice a container of several Blocks."""
        members = list(self._children.values())
        if isinstance(key, slice):
            part = type(self)(prefix=self._prefix)
            part.add(*members[key])
            return part
        try:
            return members[key]
        except IndexError:
            raise BoundsError(
                f"{self.name} has {len(members)} Blocks, none at {shown(key)}"
            ) from None


class Sequential(_Container):
    """Applies Blocks one after the other, each to the output of the previous one.

    Examples
    --------
    >>> net = mx.gluon.nn.Sequential()
    >>> with net.name_scope():
    ...     net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(2))
    >>> net.initialize()
    >>> net(mx.nd.ones((5, 3))).shape
    (5, 2)
    """

    def forward(self, x: Any, *args: Any) -> Any:
        """Return the last Block's output; a tuple of another Block becomes several arguments."""
        return _call_blocks_in_order(self._children.values(), x, args)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridize each Block."""
        if self._children and all(isinstance(each, HybridBlock) for each in self):
            warn_user(
                f"all Blocks of {self.prefix} are HybridBlocks: a HybridSequential would be one"
                " graph"
            )
        super().hybridize(active, **kwargs)


class HybridSequential(_Container, HybridBlock):
    """Applies HybridBlocks one after the other, each to the output of the previous one.

    Examples
    --------
    >>> net = mx.gluon.nn.HybridSequential(prefix="net_")
    >>> with net.name_scope():
    ...     net.add(mx.gluon.nn.Dense(4, activation="relu"), mx.gluon.nn.Dense(2))
    >>> net[1].prefix
    'net_dense1_'
    """

    def hybrid_forward(self, F: Any, x: Any, *args: Any) -> Any:
        """Return the output of the last Block."""
        return _call_blocks_in_order(self._children.values(), x, args)


def _call_blocks_in_order(blocks, x, args):
    for each in blocks:
        x = each(x, *args)
        args = ()
        if isinstance(x, (tuple, list)):
            args = tuple(x[1:])
            x = x[0]
    return (x, *args) if args else x
