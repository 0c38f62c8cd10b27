"""FusedRNNCell: whole stacks of recurrent layers by the operator RNN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from .. import symbol
from ..base.errors import ArgumentError, UndefinedError, shown
from ..initializer import FusedRNN
from ..symbol import Symbol
from . import packed
from .base import BaseRNNCell, RNNParams, normalize_inputs
from .cells import GRUCell, LSTMCell, RNNCell
from .modifiers import DropoutCell
from .stacks import BidirectionalCell, SequentialRNNCell

if TYPE_CHECKING:
    from ..typing import NamedArrays

__all__ = ["FusedRNNCell"]


class FusedRNNCell(BaseRNNCell):
    """Layers of RNN, LSTM or GRU, one or both directions, in one operator.

    Parameters
    ----------
    num_hidden : int
        Size of the state of each direction.
    num_layers : int
        Number of layers.
    mode : str
        Kind of the cells: ``'rnn_relu'``, ``'rnn_tanh'``, ``'lstm'`` or ``'gru'``.
    bidirectional : bool
        Whether to run in both directions.
    dropout : float
        Share of the elements between layers that training sets to 0.
    get_next_state : bool
        Whether ``unroll`` returns the states after the last step; if False, an empty list.
    forget_bias : float
        Initial bias of an LSTM's forget gate.
    prefix : str, optional
        Prefix of its symbols' names; by default the mode and ``_``.

    Raises
    ------
    ArgumentError
        `mode` is not 'rnn_relu', 'rnn_tanh', 'lstm' or 'gru'.

    Examples
    --------
    >>> cell = mx.rnn.FusedRNNCell(4, num_layers=2, mode="gru", prefix="f_")
    >>> outputs, _ = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(5, 3, 2))[1]
    [(5, 3, 4)]
    """

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        if mode not in packed.GATES:
            raise ArgumentError(
                f"FusedRNNCell: mode must be one of {', '.join(packed.GATES)}, got {shown(mode)}"
            )
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._bidirectional = bidirectional
        self._dropout = dropout
        self._get_next_state = get_next_state
        self._directions = ["l", "r"] if bidirectional else ["l"]
        initializer = FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=initializer)
        self._own_params = params is None

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and ``__layout__`` of each state."""
        shape = len(self._directions) * self._num_layers, 0, self._num_hidden
        return [{"shape": shape, "__layout__": "LNC"}] * (2 if self._mode == "lstm" else 1)

    @property
    def _gate_names(self):
        return packed.GATES[self._mode]

    @property
    def _num_gates(self):
        return len(self._gate_names)

    def _packing_arguments(self, num_input):
        return self._mode, self._num_layers, self._directions, num_input, self._num_hidden

    def unpack_weights(self, args: NamedArrays) -> NamedArrays:
        """Return a copy of a dict of weights in which the one array is split into the weights of
        ``unfuse()``'s cells, gate by gate; ``pack_weights`` of these cells joins the gates."""
        args = dict(args)
        array = args.pop(self._parameter.name)
        num_input = packed.infer_input_size(
            array.size, self._mode, self._num_layers, self._directions, self._num_hidden
        )
        found = packed.split_parameters(array, *self._packing_arguments(num_input), self._prefix)
        args.update({name: part.copy() for name, part in found.items()})
        return args

    def pack_weights(self, args: NamedArrays) -> NamedArrays:
        args = dict(args)
        first = args[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        layout = self._packing_arguments(first.shape[1])
        size = (packed.parameter_count(*layout),)
        array = nd.zeros(size, ctx=first.context, dtype=first.dtype)
        for name, part in packed.split_parameters(array, *layout, self._prefix).items():
            part[:] = args.pop(name)
        args[self._parameter.name] = array
        return args

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        raise UndefinedError("FusedRNNCell has no single steps: use unroll, or unfuse()")

    def unroll(
        self,
        length: int,
        inputs: Symbol | list[Symbol],
        begin_state: list[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> tuple[Any, list[Any]]:
        """Unroll the cell like ``BaseRNNCell.unroll``; layouts are transposed to ``'TNC'``."""
        self.reset()
        inputs, axis = normalize_inputs(length, inputs, layout, True)
        if axis == 1:
            inputs = symbol.swapaxes(inputs, dim1=0, dim2=1)
        elif axis != 0:
            raise ArgumentError(f"FusedRNNCell: layout must be TNC or NTC, got {shown(layout)}")
        states = self.begin_state() if begin_state is None else begin_state
        named = dict(zip(("state", "state_cell"), states))
        rnn = symbol.RNN(
            data=inputs,
            parameters=self._parameter,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=f"{self._prefix}rnn",
            **named,
        )
        outputs, states = (rnn[0], list(rnn)[1:]) if self._get_next_state else (rnn, [])
        if axis == 1:
            outputs = symbol.swapaxes(outputs, dim1=0, dim2=1)
        outputs, _ = normalize_inputs(length, outputs, layout, merge_outputs)
        return outputs, states

    def unfuse(self) -> SequentialRNNCell:
        """Return a stack of single cells that computes the same as this cell.

        Its weights come from ``unpack_weights``, then ``pack_weights`` of the new cell.

        Returns
        -------
        SequentialRNNCell
            A cell for each layer, of both directions a BidirectionalCell; with dropout between
            layers.

        Examples
        --------
        >>> fused = mx.rnn.FusedRNNCell(4, num_layers=2, mode="gru", prefix="gru_")
        >>> outputs, _ = fused.unfuse().unroll(3, mx.sym.Variable("data"), merge_outputs=True)
        >>> [name for name in outputs.list_arguments() if name.endswith("h2h_weight")]
        ['gru_l0_h2h_weight', 'gru_l1_h2h_weight']
        """

        def make_cell(prefix):
            if self._mode == "lstm":
                return LSTMCell(self._num_hidden, prefix=prefix)
            if self._mode == "gru":
                return GRUCell(self._num_hidden, prefix=prefix)
            activation = self._mode.removeprefix("rnn_")
            return RNNCell(self._num_hidden, activation=activation, prefix=prefix)

        stack = SequentialRNNCell()
        for i in range(self._num_layers):
            left = make_cell(f"{self._prefix}l{i}_")
            if self._bidirectional:
                right = make_cell(f"{self._prefix}r{i}_")
                left = BidirectionalCell(left, right, output_prefix=f"{self._prefix}bi_l{i}_")
            stack.add(left)
            if self._dropout > 0 and i != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{i}_"))
        return stack
