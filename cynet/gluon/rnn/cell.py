"""RecurrentCell: one step of a recurrent network, and its unrolling over sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import ndarray, symbol
from ...base.errors import ArgumentError, UndefinedError, shown
from ...symbol import Symbol
from ..block import Block, HybridBlock
from ..errors import MismatchError
from .begin_state import returns_arrays, to_active_array_class

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..parameter import ParameterDict

_LAYOUTS = ("TNC", "NTC")  # T: steps, N: batch, C: channels


def ops_of(value):
    """Return ``mx.sym`` for a symbol or a list of symbols, else ``mx.nd``."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return symbol if isinstance(value, Symbol) else ndarray


def split_steps(length, inputs, layout):
    """Split an array or list into steps; return (F, list of inputs of each step, batch size)."""
    if layout not in _LAYOUTS:
        raise MismatchError(f"layout must be one of {', '.join(_LAYOUTS)}, got {shown(layout)}")
    F, axis = ops_of(inputs), layout.find("T")
    if isinstance(inputs, (list, tuple)):
        if length is not None and len(inputs) != length:
            raise MismatchError(f"unroll: {len(inputs)} inputs for length {length}")
        return F, list(inputs), 0 if F is symbol else inputs[0].shape[0]
    if F is symbol:
        if length is None:
            raise ArgumentError("unroll: a symbol needs a length")
        parts = F.split(inputs, axis=axis, num_outputs=length, squeeze_axis=1)
        return F, [parts[i] for i in range(length)] if length > 1 else [parts], 0
    if length is not None and inputs.shape[axis] != length:
        raise MismatchError(
            f"unroll: an input of shape {inputs.shape}, layout {layout}, has"
            f" {inputs.shape[axis]} steps, length is {length}"
        )
    count = inputs.shape[axis]
    parts = F.split(inputs, axis=axis, num_outputs=count, squeeze_axis=1)
    parts = list(parts) if isinstance(parts, (list, tuple)) else [parts]
    return F, parts, inputs.shape[layout.find("N")]


def merge_steps(F, outputs, layout):
    """Stack the outputs of all steps to one array."""
    return F.stack(*outputs, axis=layout.find("T"))


def mask_outputs(F, outputs, layout, valid_length):
    """Stack the outputs to one array, with 0 after each sequence's length."""
    axis = layout.find("T")
    if not isinstance(outputs, (list, tuple)):
        whole = outputs
    else:
        whole = merge_steps(F, outputs, layout)
    return F.SequenceMask(whole, valid_length, use_sequence_length=True, axis=axis)


def last_states(F, all_states, valid_length):
    """Return each sequence's last valid state, from lists of states for each step."""
    return [
        F.SequenceLast(F.stack(*steps, axis=0), valid_length, use_sequence_length=True, axis=0)
        for steps in zip(*all_states)
    ]


class RecurrentCell(Block):
    """Base of recurrent cells: ``cell(inputs, states)`` returns (output, new states).

    A subclass defines ``state_info`` and ``forward`` or, of a HybridRecurrentCell,
    ``hybrid_forward``.

    Examples
    --------
    >>> cell = mx.gluon.rnn.GRUCell(4)
    >>> cell.initialize()
    >>> cell.state_info(batch_size=2)
    [{'shape': (2, 4), '__layout__': 'NC'}]
    >>> x = mx.nd.ones((2, 5, 3))  # batch of 2, length 5
    >>> outputs, states = cell.unroll(5, x, merge_outputs=True)
    >>> outputs.shape, [state.shape for state in states]
    ((2, 5, 4), [(2, 4)])
    >>> cell.reset()
    >>> output, states = cell(x[:, 0], cell.begin_state(batch_size=2))
    >>> output.shape
    (2, 4)
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Reset the step counter before another sequence."""
        vars(self).update(_init_counter=-1, _counter=-1)
        for each in self._children.values():
            if isinstance(each, RecurrentCell):
                each.reset()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape and ``__layout__`` of each state.

        Returns
        -------
        list of dict
            ``{"shape": (batch_size, num_hidden), "__layout__": "NC"}`` for each state.

        Raises
        ------
        UndefinedError
            The subclass does not define it.
        """
        raise UndefinedError(f"{type(self).__name__} defines no state_info")

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] | None = None, **kwargs: Any
    ) -> list[Any]:
        """Return the initial states.

        Parameters
        ----------
        func : callable, optional
            ``func(shape=..., ...)`` makes a state; ``mx.nd.zeros`` by default.
        **kwargs
            Arguments of `func`: ctx, dtype, ...

        Returns
        -------
        list of NDArray or Symbol
            One for each state.

        Raises
        ------
        MismatchError
            The cell is inside of a modifier, whose ``begin_state`` is to be called.
        """
        if self._modified:
            raise MismatchError(
                f"{self.name} is inside of a modifier (ZoneoutCell, ...): call that one instead"
            )
        func = ndarray.zeros if func is None else func
        states = []
        for info in self.state_info(batch_size):
            vars(self)["_init_counter"] += 1
            settings = {**info, **kwargs}
            if returns_arrays(func):
                settings.pop("__layout__", None)  # arrays have neither names nor attributes
            else:
                settings["name"] = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(to_active_array_class(func(**settings)))
        return states

    def _initial_states(self, F, begin_state, inputs, batch_size):
        """Return `begin_state`, or zeros for these inputs."""
        if begin_state is not None:
            return begin_state
        if F is symbol:
            return self.begin_state(func=symbol.zeros)
        first = inputs[0] if isinstance(inputs, (list, tuple)) else inputs
        return self.begin_state(batch_size, ndarray.zeros, ctx=first.context, dtype=first.dtype)

    def unroll(
        self,
        length: int | None,
        inputs: Any,
        begin_state: list[Any] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list[Any]]:
        """Apply the cell to all steps of a batch of sequences.

        Parameters
        ----------
        length : int
            Number of steps; None takes it from an array.
        inputs : array, or a list of one (batch, size) for each step
            The sequences.
        begin_state : list, optional
            States to begin with; zeros by default.
        layout : str
            Order of the axes of `inputs` and of merged outputs, ``'NTC'`` or ``'TNC'``.
        merge_outputs : bool, optional
            True gives one array, False a list of one for each step; None a list, or an array with
            `valid_length`.
        valid_length : array, optional
            Length of each sequence, (batch,): outputs after it are 0, and states are those at that
            step.

        Returns
        -------
        (outputs, states)
        """
        self.reset()
        F, steps, batch_size = split_steps(length, inputs, layout)
        states = self._initial_states(F, begin_state, steps, batch_size)
        outputs, all_states = [], []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
            if valid_length is not None:
                all_states.append(states)
        if valid_length is not None:
            states = last_states(F, all_states, valid_length)
            whole = mask_outputs(F, outputs, layout, valid_length)
            if merge_outputs is False:
                whole = split_steps(len(outputs), whole, layout)[1]
            return whole, states
        return (merge_steps(F, outputs, layout) if merge_outputs else outputs), states

    def _get_activation(self, F, inputs, activation, **kwargs):
        """Apply an activation, given by name, Block or function, to `inputs`."""
        if activation in ("tanh", "sigmoid"):
            return F.Activation(inputs, act_type=activation, **kwargs)
        if activation in ("relu", "softsign", "softrelu"):
            return F.Activation(inputs, act_type=activation, **kwargs)
        if isinstance(activation, str):
            return getattr(F, activation)(inputs, **kwargs)
        return activation(inputs, **({} if isinstance(activation, Block) else kwargs))

    def __call__(self, inputs: Any, states: Any) -> Any:
        """Compute (output, new states) of one step."""
        vars(self)["_counter"] += 1
        return super().__call__(inputs, states)

    def forward(self, inputs: Any, states: Any) -> Any:
        """Compute one step; a subclass defines this method."""
        raise UndefinedError(f"{type(self).__name__} defines no forward")


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """A RecurrentCell that can be hybridized; a subclass defines ``hybrid_forward``.

    Examples
    --------
    >>> class Sum(HybridRecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{"shape": (batch_size, 1), "__layout__": "NC"}]
    ...     def hybrid_forward(self, F, x, states):
    ...         total = states[0] + x
    ...         return total, [total]
    >>> outputs, _ = Sum().unroll(3, mx.nd.array([[[1], [2], [3]]]), merge_outputs=True)
    >>> outputs.asnumpy().ravel().tolist()
    [1.0, 3.0, 6.0]
    """

    _takes_symbols = True

    def forward(self, inputs: Any, states: Any) -> Any:
        """Compute one step by ``hybrid_forward``."""
        return HybridBlock.forward(self, inputs, states)
