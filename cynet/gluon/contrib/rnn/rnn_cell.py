"""LSTMPCell, VariationalDropoutCell and dynamic_unroll."""

from __future__ import annotations

from typing import Any

from .... import symbol
from ....base.errors import ArgumentError, shown
from ....base.guard import guarded
from ....symbol import Symbol
from ...errors import MismatchError
from ...rnn import BidirectionalCell, ModifierCell, RecurrentCell, ZoneoutCell
from ...rnn.cell import last_states, mask_outputs, merge_steps, split_steps
from ...rnn.cells import LSTMPCell

__all__ = ["LSTMPCell", "VariationalDropoutCell"]


class VariationalDropoutCell(ModifierCell):
    """Dropout around a cell, with the same mask at all steps of a sequence.

    Which they are is drawn at the first step after `reset`; `unroll` begins with that.

    Parameters
    ----------
    base_cell : RecurrentCell
        The cell around which elements are dropped.
    drop_inputs, drop_states, drop_outputs : float
        Probabilities that an element is set to 0; of several states only the first one is affected.

    Raises
    ------
    MismatchError
        `base_cell` is inside of a modifier already, or is bidirectional and `drop_states` is not 0.

    Examples
    --------
    >>> cell = VariationalDropoutCell(mx.gluon.rnn.RNNCell(3), drop_inputs=0.5)
    >>> cell.initialize(mx.init.One())
    >>> with mx.autograd.train_mode():
    ...     outputs, _ = cell.unroll(2, mx.nd.ones((1, 2, 4)), merge_outputs=True)
    >>> outputs.shape
    (1, 2, 3)
    """

    def __init__(
        self,
        base_cell: RecurrentCell,
        drop_inputs: float = 0.0,
        drop_states: float = 0.0,
        drop_outputs: float = 0.0,
    ) -> None:
        if drop_states and _is_bidirectional(base_cell):
            raise MismatchError(
                "VariationalDropoutCell: a BidirectionalCell has no steps between which states"
                " could be dropped; put VariationalDropoutCell around the cells inside"
            )
        super().__init__(base_cell)
        self._rates = {"inputs": drop_inputs, "states": drop_states, "outputs": drop_outputs}

    def _alias(self):
        return "vardrop"

    def hybridize(self, active: bool = True, *args: Any, **kwargs: Any) -> None:
        """Hybridize only the base cell, because the dropout masks outlive one step."""
        self.base_cell.hybridize(active, *args, **kwargs)

    def reset(self) -> None:
        """Drop the dropout masks; the next step draws new masks."""
        super().reset()
        vars(self)["_masks"] = {}

    def _apply_dropout_mask(self, F, name, value):
        """Multiply `value` by the sequence's dropout mask of this `name`."""
        if not self._rates[name]:
            return value
        mask = self._masks.get(name)
        if mask is None or isinstance(mask, Symbol) != isinstance(value, Symbol):
            mask = F.Dropout(F.ones_like(value), p=self._rates[name])
            self._masks[name] = mask
        return F.elemwise_mul(value, mask)

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """Compute (output, states) of one step."""
        first = (
            self._apply_dropout_mask(F, "states", states[0]) if self._rates["states"] else states[0]
        )
        inputs = self._apply_dropout_mask(F, "inputs", inputs)
        output, states = self.base_cell(inputs, [first, *states[1:]])
        return self._apply_dropout_mask(F, "outputs", output), states

    def unroll(
        self,
        length: int | None,
        inputs: Any,
        begin_state: list[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list[Any]]:
        """Apply the cell to all steps; see `RecurrentCell.unroll`."""
        if self._rates["states"]:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        F, steps, batch_size = split_steps(length, inputs, layout)
        states = self._initial_states(F, begin_state, steps, batch_size)
        steps = [self._apply_dropout_mask(F, "inputs", each) for each in steps]
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                len(steps), steps, states, layout, False, valid_length
            )
        finally:
            self.base_cell._modified = True
        outputs = [self._apply_dropout_mask(F, "outputs", each) for each in outputs]
        if merge_outputs is not False:  # None merges too, as in MXNet
            outputs = merge_steps(F, outputs, layout)
        return outputs, states

    def __repr__(self) -> str:
        rates = ", ".join(f"drop_{name}={rate}" for name, rate in self._rates.items())
        return f"{type(self).__name__}({rates}, {self.base_cell})"


def _is_bidirectional(cell):
    """Return whether the cell, or a cell inside, needs all steps at once."""
    if isinstance(cell, BidirectionalCell):
        return True
    return any(_is_bidirectional(each) for each in cell._children.values())


@guarded
def dynamic_unroll(
    cell: RecurrentCell,
    inputs: Any,
    begin_state: list[Any],
    drop_inputs: float = 0,
    drop_outputs: float = 0,
    layout: str = "TNC",
    valid_length: Any = None,
) -> tuple[Any, list[Any]]:
    """Apply a cell to all steps of an array, of any length.

    Parameters
    ----------
    cell : RecurrentCell
    inputs : NDArray or Symbol
        (steps, batch, ...) for `layout` ``'TNC'``, (batch, steps, ...) for ``'NTC'``. Of a Symbol,
        which does not say how many steps it has, a ``foreach`` is made.
    begin_state : list of NDArray or Symbol
    drop_inputs, drop_outputs : float
        Probabilities of dropout; the same elements are left out at all steps.
    layout : str
    valid_length : NDArray, optional
        (batch,) lengths: outputs after them are 0, states those at the length.

    Returns
    -------
    (outputs, states)

    Examples
    --------
    >>> cell = mx.gluon.rnn.RNNCell(2)
    >>> cell.initialize(mx.init.One())
    >>> outputs, states = dynamic_unroll(cell, mx.nd.ones((3, 1, 4)), cell.begin_state(1))
    >>> outputs.shape, len(states)
    ((3, 1, 2), 1)
    """
    shape = getattr(inputs, "shape", None)
    cell.reset()
    if shape is None:
        return _unroll_by_foreach(
            cell, inputs, begin_state, drop_inputs, drop_outputs, layout, valid_length
        )
    F, steps, _ = split_steps(shape[layout.find("T")], inputs, layout)
    if drop_inputs:
        mask = F.Dropout(F.ones_like(steps[0]), p=drop_inputs)
        steps = [each * mask for each in steps]
    outputs, states, all_states = [], begin_state, []
    for step in steps:
        output, states = cell(step, states)
        outputs.append(output)
        all_states.append(states)
    if drop_outputs:
        mask = F.Dropout(F.ones_like(outputs[0]), p=drop_outputs)
        outputs = [each * mask for each in outputs]
    if valid_length is None:
        return merge_steps(F, outputs, layout), states
    return mask_outputs(F, outputs, layout, valid_length), last_states(F, all_states, valid_length)


def _unroll_by_foreach(cell, inputs, begin_state, drop_inputs, drop_outputs, layout, valid_length):
    """Apply a cell to the steps of a Symbol, by the operator foreach."""
    if layout not in ("TNC", "NTC"):
        raise MismatchError(f"dynamic_unroll: layout must be TNC or NTC, got {shown(layout)}")
    if _has_stored_state(cell):
        raise ArgumentError(
            f"dynamic_unroll: {cell.name} keeps something from step to step besides its states, "
            "which a loop over a Symbol cannot; unroll it with a length"
        )
    F, axis = symbol, layout.find("T")
    if drop_inputs:
        inputs = F.Dropout(inputs, p=drop_inputs, axes=(axis,))
    rows = F.swapaxes(inputs, dim1=0, dim2=1) if axis else inputs
    if valid_length is None:
        outputs, states = F.contrib.foreach(cell, rows, begin_state)
    else:

        def body(row, states):
            *before, step = states
            output, after = cell(row, before)
            goes_on = F.broadcast_greater(valid_length, step)
            after = [F.where(goes_on, new, old) for new, old in zip(after, before)]
            return output, [*after, step + 1]

        outputs, (*states, _) = F.contrib.foreach(body, rows, [*begin_state, F.zeros((1,))])
        outputs = F.SequenceMask(
            outputs, sequence_length=valid_length, use_sequence_length=True, axis=0
        )
    if axis:
        outputs = F.swapaxes(outputs, dim1=0, dim2=1)
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(axis,))
    return outputs, states


def _has_stored_state(cell):
    """Return whether the cell, or a cell inside, stores a mask or the previous step's output."""
    if isinstance(cell, (VariationalDropoutCell, ZoneoutCell)):
        return True
    return any(map(_has_stored_state, cell._children.values()))
