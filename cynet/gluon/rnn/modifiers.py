"""Cells that modify another cell: dropout, zoneout, residual connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import MismatchError
from .cell import HybridRecurrentCell, RecurrentCell, mask_outputs, merge_steps, ops_of, split_steps
from .stacks import BidirectionalCell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..parameter import ParameterDict


class DropoutCell(HybridRecurrentCell):
    """Dropout on the inputs, as a cell without states.

    Parameters
    ----------
    rate : float
        Probability that an element is set to 0.
    axes : tuple of int
        Axes along which one decision holds: the mask has extent 1 there.

    Examples
    --------
    >>> cell = mx.gluon.rnn.SequentialRNNCell()
    >>> cell.add(mx.gluon.rnn.LSTMCell(4))
    >>> cell.add(mx.gluon.rnn.DropoutCell(0.5))
    >>> cell.initialize()
    >>> cell.unroll(5, mx.nd.ones((2, 5, 3)), merge_outputs=True)[0].shape
    (2, 5, 4)
    """

    def __init__(
        self,
        rate: float,
        axes: Sequence[int] = (),
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix, params)
        self._rate = rate
        self._axes = tuple(axes)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return an empty list: the cell has no states."""
        return []

    def _alias(self):
        return "dropout"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """Return the inputs after dropout, and the states unchanged."""
        if self._rate > 0:
            inputs = F.Dropout(inputs, p=self._rate, axes=self._axes, name=f"t{self._counter}_fwd")
        return inputs, states

    def unroll(
        self,
        length: int | None,
        inputs: Any,
        begin_state: list[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list[Any]]:
        """Apply dropout to all steps at once if they are one array."""
        self.reset()
        if not isinstance(inputs, (list, tuple)) and merge_outputs is not False:
            return self.hybrid_forward(ops_of(inputs), inputs, begin_state or [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"


class ModifierCell(HybridRecurrentCell):
    """Base of cells that modify another cell, which must not be called directly afterwards.

    Parameters
    ----------
    base_cell : RecurrentCell
        The cell that is modified.

    Raises
    ------
    MismatchError
        `base_cell` is inside of a modifier already.

    Examples
    --------
    >>> class Doubled(mx.gluon.rnn.ModifierCell):
    ...     def hybrid_forward(self, F, inputs, states):
    ...         output, states = self.base_cell(inputs, states)
    ...         return 2 * output, states
    ...
    >>> cell = Doubled(mx.gluon.rnn.GRUCell(4))
    >>> cell.initialize()
    >>> cell.unroll(5, mx.nd.ones((2, 5, 3)), merge_outputs=True)[0].shape
    (2, 5, 4)
    """

    def __init__(self, base_cell: RecurrentCell) -> None:
        if base_cell._modified:
            raise MismatchError(f"{base_cell.name} is inside of a modifier already")
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self):
        """The parameters of the base cell."""
        return self.base_cell.params

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return shape and layout of the base cell's states."""
        return self.base_cell.state_info(batch_size)

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] | None = None, **kwargs: Any
    ) -> list[Any]:
        """Return the initial states of the base cell."""
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(batch_size, func, **kwargs)
        finally:
            self.base_cell._modified = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"


class ZoneoutCell(ModifierCell):
    """Zoneout: in training, random outputs and states keep their previous step's values.

    Parameters
    ----------
    base_cell : RecurrentCell
        A single cell, not a BidirectionalCell.
    zoneout_outputs, zoneout_states : float
        Probabilities that an entry stays.

    Raises
    ------
    MismatchError
        `base_cell` is a BidirectionalCell, or is inside of a modifier already.

    Examples
    --------
    >>> cell = mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.GRUCell(4), zoneout_states=0.1)
    >>> cell.initialize()
    >>> cell.unroll(5, mx.nd.ones((2, 5, 3)), merge_outputs=True)[0].shape
    (2, 5, 4)
    """

    def __init__(
        self, base_cell: RecurrentCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0
    ) -> None:
        if isinstance(base_cell, BidirectionalCell):
            raise MismatchError(
                "ZoneoutCell: a BidirectionalCell has no steps; put ZoneoutCells into it"
            )
        super().__init__(base_cell)
        self._zoneout_outputs, self._zoneout_states = zoneout_outputs, zoneout_states
        self._previous = None

    def _alias(self):
        return "zoneout"

    def reset(self) -> None:
        """Drop the previous step's output."""
        super().reset()
        vars(self)["_previous"] = None

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """Compute (output, states) of one step."""
        output, new = self.base_cell(inputs, states)

        def mix_states(rate, fresh, before):
            mask = F.Dropout(F.ones_like(fresh), p=rate)
            return F.where(mask, fresh, before)

        before = F.zeros_like(output) if self._previous is None else self._previous
        if self._zoneout_outputs > 0:
            output = mix_states(self._zoneout_outputs, output, before)
        if self._zoneout_states > 0:
            new = [mix_states(self._zoneout_states, a, b) for a, b in zip(new, states)]
        vars(self)["_previous"] = output
        return output, new

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(p_out={self._zoneout_outputs}, p_state={self._zoneout_states},"
            f" {self.base_cell})"
        )


class ResidualCell(ModifierCell):
    """Adds the input to the output of a base cell.

    Parameters
    ----------
    base_cell : RecurrentCell
        Cell whose output is as large as its input.

    Examples
    --------
    >>> cell = mx.gluon.rnn.ResidualCell(mx.gluon.rnn.GRUCell(3))  # a GRU cell as wide as its input
    >>> cell.initialize(mx.init.Zero())  # zero weights: the GRU's own output is 0
    >>> x = mx.nd.random.normal(shape=(2, 5, 3))
    >>> bool((cell.unroll(5, x, merge_outputs=True)[0] == x).min())
    True
    """

    def _alias(self):
        return "residualcell"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> Any:
        """Compute (output, states) of one step."""
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name=f"t{self._counter}_fwd"), states

    def unroll(
        self,
        length: int | None,
        inputs: Any,
        begin_state: list[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list[Any]]:
        """Unroll the base cell, and add the inputs; see `RecurrentCell.unroll`."""
        self.reset()
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                length, inputs, begin_state, layout, False, valid_length
            )
        finally:
            self.base_cell._modified = True
        F, steps, _ = split_steps(length, inputs, layout)
        outputs = [F.elemwise_add(a, b) for a, b in zip(outputs, steps)]
        if valid_length is not None:
            whole = mask_outputs(F, outputs, layout, valid_length)
            if merge_outputs is False:
                whole = split_steps(len(outputs), whole, layout)[1]
            return whole, states
        return (merge_steps(F, outputs, layout) if merge_outputs else outputs), states
