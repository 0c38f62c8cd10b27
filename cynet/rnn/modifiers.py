"""Cells that modify other cells: DropoutCell, ZoneoutCell, ResidualCell."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .. import symbol
from ..base.errors import ArgumentError, ArgumentTypeError, UndefinedError, shown
from ..symbol import Symbol
from .base import BaseRNNCell, RNNParams, normalize_inputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import NamedArrays

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell"]


class DropoutCell(BaseRNNCell):
    """Applies dropout to the inputs, between the cells of a stack.

    Parameters
    ----------
    dropout : float
        Share of the elements that training sets to 0.
    params : RNNParams, optional
        Part of the signature of all cells; it has no weights.

    Raises
    ------
    ArgumentTypeError
        `dropout` is not a number.

    Examples
    --------
    >>> stack = mx.rnn.SequentialRNNCell()
    >>> stack.add(mx.rnn.LSTMCell(4, prefix="first_"))
    >>> stack.add(mx.rnn.DropoutCell(0.5))
    >>> stack.add(mx.rnn.LSTMCell(4, prefix="second_"))
    >>> outputs, states = stack.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 4)]
    """

    def __init__(
        self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None
    ) -> None:
        super().__init__(prefix, params)
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
            raise ArgumentTypeError(f"DropoutCell: dropout must be a number, got {shown(dropout)}")
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """An empty list: the cell has no states."""
        return []

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Compute one step: (output, states)."""
        if self.dropout > 0:
            inputs = symbol.Dropout(data=inputs, p=self.dropout)
        return inputs, states

    def unroll(
        self,
        length: int,
        inputs: Symbol | list[Symbol],
        begin_state: list[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        """Unroll the cell like ``BaseRNNCell.unroll``; one symbol gets one Dropout."""
        self.reset()
        inputs, _ = normalize_inputs(length, inputs, layout, merge_outputs)
        if isinstance(inputs, Symbol):
            return self(inputs, [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """Base of cells that modify another cell, the base cell, which owns weights and states.

    Parameters
    ----------
    base_cell : BaseRNNCell
        The cell that is modified.

    Raises
    ------
    ArgumentTypeError
        `base_cell` is not a cell.

    Examples
    --------
    >>> class Half(mx.rnn.ModifierCell):
    ...     def __call__(self, inputs, states):
    ...         output, states = self.base_cell(inputs, states)
    ...         return output / 2, states
    >>> cell = Half(mx.rnn.RNNCell(4, prefix="rnn_"))
    >>> outputs, states = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1], cell.state_shape
    ([(2, 3, 4)], [(0, 4)])
    """

    def __init__(self, base_cell: BaseRNNCell) -> None:
        if not isinstance(base_cell, BaseRNNCell):
            raise ArgumentTypeError(
                f"{type(self).__name__}: expected a cell, got {shown(base_cell)}"
            )
        self.base_cell = base_cell
        super().__init__()
        base_cell._modified = True

    def reset(self) -> None:
        super().reset()
        self.base_cell.reset()

    @contextmanager
    def _allow_begin_state(self):
        """Return a scope in which the base cell may create states."""
        self.base_cell._modified = False
        try:
            yield self.base_cell
        finally:
            self.base_cell._modified = True

    @property
    def params(self) -> RNNParams:
        """The parameters of the base cell."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """The states of the base cell."""
        return self.base_cell.state_info

    def begin_state(
        self, init_sym: Callable[..., Symbol] = symbol.zeros, **kwargs: Any
    ) -> list[Symbol]:
        """Make the initial states of the base cell; `init_sym`, or ``func=``, makes one."""
        with self._allow_begin_state() as cell:
            return cell.begin_state(**{"func": init_sym, **kwargs})

    def unpack_weights(self, args: NamedArrays) -> NamedArrays:
        """Call ``unpack_weights`` of the base cell."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: NamedArrays) -> NamedArrays:
        """Call ``pack_weights`` of the base cell."""
        return self.base_cell.pack_weights(args)

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        raise UndefinedError(f"{type(self).__name__} defines no __call__")


class ZoneoutCell(ModifierCell):
    """Applies zoneout: random entries of outputs and states keep their previous values.

    Krueger et al., https://arxiv.org/abs/1606.01305.

    Parameters
    ----------
    base_cell : BaseRNNCell
        A single cell, not a FusedRNNCell or BidirectionalCell.
    zoneout_outputs, zoneout_states : float
        Probabilities that an entry keeps its value in training.

    Raises
    ------
    ArgumentError
        `base_cell` is, or has in it, a FusedRNNCell or a BidirectionalCell, which have no single
        steps.
    ArgumentTypeError
        `base_cell` is not a cell.

    Examples
    --------
    >>> cell = mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(4, prefix="lstm_"), zoneout_states=0.1)
    >>> outputs, states = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 5))[1]
    [(2, 3, 4)]
    """

    def __init__(
        self, base_cell: BaseRNNCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ) -> None:
        inner = [base_cell]
        while inner:
            cell = inner.pop()
            if type(cell).__name__ in ("FusedRNNCell", "BidirectionalCell"):
                raise ArgumentError(
                    f"ZoneoutCell: {type(cell).__name__} has no single steps; modify the cells in"
                    " it, those of unfuse()"
                )
            inner.extend(getattr(cell, "_cells", ()))
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states

    def reset(self) -> None:
        """Drop the last output, and count the steps from 0 again."""
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Compute one step: (output, states)."""
        output, after = self.base_cell(inputs, states)

        def mix_entries(share, new, old):
            mask = symbol.Dropout(symbol.ones_like(new), p=share)
            return symbol.where(mask, new, old)

        if self.zoneout_outputs != 0:
            before = self.prev_output
            if before is None:
                before = symbol.zeros((0, 0))
            output = mix_entries(self.zoneout_outputs, output, before)
        if self.zoneout_states != 0:
            after = [mix_entries(self.zoneout_states, new, old) for new, old in zip(after, states)]
        self.prev_output = output
        return output, after


class ResidualCell(ModifierCell):
    """Adds the input of the base cell to its output.

    Parameters
    ----------
    base_cell : BaseRNNCell
        A cell whose outputs have the size of its inputs.

    Raises
    ------
    ArgumentTypeError
        `base_cell` is not a cell.

    Examples
    --------
    >>> cell = mx.rnn.ResidualCell(mx.rnn.RNNCell(2, prefix="rnn_"))
    >>> output, states = cell(mx.sym.Variable("data"), cell.begin_state())
    >>> weights = {name: mx.nd.zeros((2, 2)) for name in ("rnn_i2h_weight", "rnn_h2h_weight")}
    >>> weights |= {name: mx.nd.zeros(2) for name in ("rnn_i2h_bias", "rnn_h2h_bias")}

    With weights of 0 the cell gives 0, and the input is left:

    >>> output.eval(data=mx.nd.array([[3, 4]]), **weights)[0].asnumpy()
    array([[3., 4.]], dtype=float32)
    """

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Compute one step: (output, states)."""
        output, states = self.base_cell(inputs, states)
        return _add_residual(output, inputs), states

    def unroll(
        self,
        length: int,
        inputs: Symbol | list[Symbol],
        begin_state: list[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        self.reset()
        with self._allow_begin_state() as cell:
            outputs, states = cell.unroll(length, inputs, begin_state, layout, merge_outputs)
        merged = isinstance(outputs, Symbol)
        inputs, _ = normalize_inputs(length, inputs, layout, merged)
        if merged:
            return _add_residual(outputs, inputs), states
        return [_add_residual(output, each) for output, each in zip(outputs, inputs)], states


def _add_residual(output, inputs):
    return symbol.elemwise_add(output, inputs, name=f"{output.name}_plus_residual")
