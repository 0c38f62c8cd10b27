"""SequentialRNNCell and BidirectionalCell: cells that contain cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import symbol
from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, UndefinedError, shown
from ..symbol import Symbol
from .base import BaseRNNCell, RNNParams, normalize_inputs

if TYPE_CHECKING:
    from ..typing import NamedArrays

__all__ = ["BidirectionalCell", "SequentialRNNCell"]


class _CellStack(BaseRNNCell):
    """Base of cells that contain cells; given `params` are shared by all of them."""

    def __init__(self, cells, params):
        super().__init__(prefix="", params=params)
        self._override_cell_params = params is not None
        self._cells = []
        for cell in cells:
            self._add_cell(cell)

    def _add_cell(self, cell):
        if not isinstance(cell, BaseRNNCell):
            raise ArgumentTypeError(f"{type(self).__name__}: expected a cell, got {shown(cell)}")
        self._cells.append(cell)
        if self._override_cell_params:
            if not cell._own_params:
                raise ArgumentError(
                    f"{type(self).__name__}: give params either to it or to its cells, not to both"
                )
            cell.params._params.update(self.params._params)
        self.params._params.update(cell.params._params)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and ``__layout__`` of the states of all cells, in order."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs: Any) -> list[Symbol]:
        """Make the initial states of all cells, in order."""
        if self._modified:
            raise CynetError(
                "a cell inside a modifier, as ResidualCell, has no states of its own: call"
                " begin_state of the modifier"
            )
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def unpack_weights(self, args: NamedArrays) -> NamedArrays:
        """Call ``unpack_weights`` of each cell."""
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return args

    def pack_weights(self, args: NamedArrays) -> NamedArrays:
        """Call ``pack_weights`` of each cell."""
        for cell in self._cells:
            args = cell.pack_weights(args)
        return args


class SequentialRNNCell(_CellStack):
    """A stack of cells: each cell takes the output of the cell before.

    Examples
    --------
    >>> stack = mx.rnn.SequentialRNNCell()
    >>> stack.add(mx.rnn.LSTMCell(4, prefix="l0_"))
    >>> stack.add(mx.rnn.GRUCell(3, prefix="l1_"))
    >>> stack.state_shape
    [(0, 4), (0, 4), (0, 3)]
    """

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__([], params)

    def add(self, cell: BaseRNNCell) -> None:
        """Add a cell on top of the stack.

        Parameters
        ----------
        cell : BaseRNNCell
            The cell, which gets the output of the one below.
        """
        self._add_cell(cell)

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Compute one step: (output of the last cell, states of all cells)."""
        self._counter += 1
        after, begin = [], 0
        for cell in self._cells:
            count = len(cell.state_info)
            inputs, own = cell(inputs, states[begin : begin + count])
            begin += count
            after.extend(own)
        return inputs, after

    def unroll(
        self,
        length: int,
        inputs: Symbol | list[Symbol],
        begin_state: list[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        self.reset()
        states = self.begin_state() if begin_state is None else begin_state
        after, begin = [], 0
        for i, cell in enumerate(self._cells):
            count = len(cell.state_info)
            inputs, own = cell.unroll(
                length,
                inputs,
                states[begin : begin + count],
                layout,
                merge_outputs if i == len(self._cells) - 1 else None,
            )
            begin += count
            after.extend(own)
        return inputs, after


class BidirectionalCell(_CellStack):
    """Runs one cell forward and one cell backward over a sequence; joins their outputs.

    Parameters
    ----------
    l_cell, r_cell : BaseRNNCell
        The cell that runs forwards, and the one that runs backwards.
    output_prefix : str
        Prefix of the outputs' names.

    Examples
    --------
    >>> both = mx.rnn.BidirectionalCell(mx.rnn.GRUCell(4, "l_"), mx.rnn.GRUCell(4, "r_"))
    >>> outputs, _ = both.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(5, 3, 2))[1]
    [(5, 3, 8)]
    """

    def __init__(
        self,
        l_cell: BaseRNNCell,
        r_cell: BaseRNNCell,
        params: RNNParams | None = None,
        output_prefix: str = "bi_",
    ) -> None:
        super().__init__([l_cell, r_cell], params)
        self._output_prefix = output_prefix

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        raise UndefinedError("BidirectionalCell has no single steps: use unroll")

    def unroll(
        self,
        length: int,
        inputs: Symbol | list[Symbol],
        begin_state: list[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        """Unroll both cells; the states are a list for each of the two cells."""
        self.reset()
        inputs, axis = normalize_inputs(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        left, right = self._cells
        count = len(left.state_info)
        fronts, left_states = left.unroll(length, inputs, states[:count], layout, merge_outputs)
        backs, right_states = right.unroll(
            length, inputs[::-1], states[count:], layout, merge_outputs
        )
        if merge_outputs is None:
            merge_outputs = isinstance(fronts, Symbol) and isinstance(backs, Symbol)
        fronts, _ = normalize_inputs(
            None if merge_outputs else length, fronts, layout, merge_outputs
        )
        backs, _ = normalize_inputs(None if merge_outputs else length, backs, layout, merge_outputs)
        if merge_outputs:
            backs = symbol.reverse(backs, axis=axis)
            name = f"{self._output_prefix}out"
            outputs = symbol.concat(fronts, backs, dim=2, name=name)
        else:
            outputs = [
                symbol.concat(front, back, dim=1, name=f"{self._output_prefix}t{i}")
                for i, (front, back) in enumerate(zip(fronts, backs[::-1]))
            ]
        return outputs, [left_states, right_states]
