"""Stacked and bidirectional recurrent cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.errors import UndefinedError
from ...base.guard import PER_BATCH_METHODS, guarded
from ..errors import MismatchError
from .cell import HybridRecurrentCell, RecurrentCell, mask_outputs, merge_steps, split_steps

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..parameter import ParameterDict


@guarded(but=(*PER_BATCH_METHODS, "hybrid_forward"))
class _CellStack(RecurrentCell):  # base of sequences of cells
    """Base of SequentialRNNCell and HybridSequentialRNNCell."""

    def add(self, cell: RecurrentCell) -> None:
        """Append a cell.

        Parameters
        ----------
        cell : RecurrentCell
            The cell, which gets the output of the one below.
        """
        self.register_child(cell)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape and ``__layout__`` of each state of all cells."""
        return [info for each in self._children.values() for info in each.state_info(batch_size)]

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] | None = None, **kwargs: Any
    ) -> list[Any]:
        """Return the initial states of all cells."""
        if self._modified:
            raise MismatchError(
                f"{self.name or type(self).__name__} is inside of a modifier (ZoneoutCell, ...):"
                " call that one instead"
            )
        return [
            state
            for each in self._children.values()
            for state in each.begin_state(batch_size, func, **kwargs)
        ]

    def forward(self, inputs: Any, states: Any) -> Any:
        """Return the output of the last cell, and the new states of all cells."""
        new, at = [], 0
        for each in self._children.values():
            count = len(each.state_info())
            inputs, own = each(inputs, states[at : at + count])
            new.extend(own)
            at += count
        return inputs, new

    def unroll(
        self,
        length: int | None,
        inputs: Any,
        begin_state: list[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list[Any]]:
        """Unroll each cell over the outputs of the previous one; see `RecurrentCell.unroll`."""
        self.reset()
        F, steps, batch_size = split_steps(length, inputs, layout)
        states = self._initial_states(F, begin_state, steps, batch_size)
        cells = list(self._children.values())
        new, at, outputs = [], 0, steps
        for i, each in enumerate(cells):
            count = len(each.state_info())
            merge = merge_outputs if i == len(cells) - 1 else None
            if isinstance(outputs, (list, tuple)):
                total = len(outputs)
            else:
                total = len(steps)
            outputs, own = each.unroll(
                total, outputs, states[at : at + count], layout, merge, valid_length
            )
            new.extend(own)
            at += count
        return outputs, new

    def __len__(self) -> int:
        return len(self._children)

    def __getitem__(self, i: int) -> RecurrentCell:
        return list(self._children.values())[i]


class SequentialRNNCell(_CellStack):
    """Stacks cells: each takes the output of the previous cell.

    Examples
    --------
    >>> stack = mx.gluon.rnn.SequentialRNNCell()
    >>> stack.add(mx.gluon.rnn.LSTMCell(2))
    >>> stack.add(mx.gluon.rnn.GRUCell(3))
    >>> len(stack), [info["shape"] for info in stack.state_info(1)]
    (2, [(1, 2), (1, 2), (1, 3)])
    """


class HybridSequentialRNNCell(_CellStack, HybridRecurrentCell):
    """Stacks hybrid cells; see :class:`SequentialRNNCell`.

    Examples
    --------
    >>> cell = mx.gluon.rnn.HybridSequentialRNNCell()
    >>> cell.add(mx.gluon.rnn.LSTMCell(4))
    >>> cell.add(mx.gluon.rnn.GRUCell(2))
    >>> cell.initialize()
    >>> cell.unroll(5, mx.nd.ones((2, 5, 3)), merge_outputs=True)[0].shape
    (2, 5, 2)
    """

    _takes_symbols = True

    def forward(self, inputs: Any, states: Any) -> Any:
        return _CellStack.forward(self, inputs, states)


class BidirectionalCell(HybridRecurrentCell):
    """Two cells, one of which runs backwards; it can only be unrolled.

    Parameters
    ----------
    l_cell, r_cell : RecurrentCell
        The cell that runs forwards, and the one that runs backwards.
    output_prefix : str
        Prefix of the outputs' names.

    Examples
    --------
    >>> both = mx.gluon.rnn.BidirectionalCell(mx.gluon.rnn.RNNCell(2), mx.gluon.rnn.RNNCell(2))
    >>> both.initialize()
    >>> outputs, _ = both.unroll(3, mx.nd.ones((1, 3, 4)), merge_outputs=True)
    >>> outputs.shape
    (1, 3, 4)
    """

    def __init__(
        self,
        l_cell: RecurrentCell,
        r_cell: RecurrentCell,
        params: ParameterDict | None = None,
        output_prefix: str = "bi_",
    ) -> None:
        super().__init__(prefix="", params=params)
        self.l_cell = l_cell
        self.r_cell = r_cell
        self._output_prefix = output_prefix

    def __call__(self, inputs: Any, states: Any) -> Any:
        """Raise an error: the backward cell needs the whole sequence."""
        raise UndefinedError("a BidirectionalCell has no single steps, only unroll")

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape and ``__layout__`` of each state of both cells."""
        return self.l_cell.state_info(batch_size) + self.r_cell.state_info(batch_size)

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] | None = None, **kwargs: Any
    ) -> list[Any]:
        """Return the initial states of both cells."""
        if self._modified:
            raise MismatchError(
                f"{self.name or type(self).__name__} is inside of a modifier (ZoneoutCell, ...):"
                " call that one instead"
            )
        cells = (self.l_cell, self.r_cell)
        return [state for each in cells for state in each.begin_state(batch_size, func, **kwargs)]

    def unroll(
        self,
        length: int | None,
        inputs: Any,
        begin_state: list[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list[Any]]:
        """Unroll both cells, and concatenate their outputs; see `RecurrentCell.unroll`."""
        self.reset()
        F, steps, batch_size = split_steps(length, inputs, layout)
        states = self._initial_states(F, begin_state, steps, batch_size)
        count, length = len(self.l_cell.state_info()), len(steps)
        forth, l_states = self.l_cell.unroll(
            length, steps, states[:count], layout, False, valid_length
        )
        back, r_states = self.r_cell.unroll(
            length,
            _reverse_sequence(F, steps, layout, valid_length),
            states[count:],
            layout,
            False,
            valid_length,
        )
        back = _reverse_sequence(F, back, layout, valid_length)
        outputs = [
            F.concat(a, b, dim=1, name=f"{self._output_prefix}t{i}")
            for i, (a, b) in enumerate(zip(forth, back))
        ]
        new = l_states + r_states
        if valid_length is not None:
            whole = mask_outputs(F, outputs, layout, valid_length)
            return (split_steps(length, whole, layout)[1] if merge_outputs is False else whole), new
        return (merge_steps(F, outputs, layout) if merge_outputs else outputs), new

    def __repr__(self) -> str:
        return f"{type(self).__name__}(forward={self.l_cell}, backward={self.r_cell})"


def _reverse_sequence(F, steps, layout, valid_length):
    """Reverse the order of steps within each sequence's length."""
    if valid_length is None:
        return list(reversed(steps))
    whole = F.SequenceReverse(F.stack(*steps, axis=0), valid_length, use_sequence_length=True)
    return split_steps(len(steps), whole, "TNC")[1]
