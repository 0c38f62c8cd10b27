"""RNNCell, LSTMCell and GRUCell."""

from __future__ import annotations

from typing import Any

from .. import symbol
from ..initializer import LSTMBias
from ..symbol import Symbol
from .base import BaseRNNCell, RNNParams

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


class _GatedCell(BaseRNNCell):  # base of cells with gates
    """Base of cells that have weights of the input and of the state for each gate."""

    _num_states = 1

    def __init__(self, num_hidden, prefix, params, i2h_bias=None):
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden
        settings = {} if i2h_bias is None else {"init": i2h_bias}
        self._iW = self.params.get("i2h_weight")
        self._iB = self.params.get("i2h_bias", **settings)
        self._hW = self.params.get("h2h_weight")
        self._hB = self.params.get("h2h_bias")
        self._own_params = params is None

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and ``__layout__`` of each state."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"}] * self._num_states

    def _gate_layers(self, inputs, state, name):
        """Return the dense layers of the input and of the state, for all gates."""
        rows = self._num_hidden * len(self._gate_names)
        i2h = symbol.FullyConnected(inputs, self._iW, self._iB, num_hidden=rows, name=f"{name}i2h")
        h2h = symbol.FullyConnected(state, self._hW, self._hB, num_hidden=rows, name=f"{name}h2h")
        return i2h, h2h

    def _next_step_prefix(self):
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"


class RNNCell(_GatedCell):
    """``h' = activation(W x + b + R h + d)``.

    Examples
    --------
    >>> outputs, states = mx.rnn.RNNCell(4).unroll(3, mx.sym.Variable("data"))
    >>> [each.name for each in outputs]
    ['rnn_t0_out', 'rnn_t1_out', 'rnn_t2_out']
    """

    def __init__(
        self,
        num_hidden: int,
        activation: Any = "tanh",
        prefix: str = "rnn_",
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    @property
    def _gate_names(self):
        return ("",)

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Compute one step: (output, [h])."""
        name = self._next_step_prefix()
        i2h, h2h = self._gate_layers(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class LSTMCell(_GatedCell):
    """A long short-term memory (LSTM) cell; gates in the order i, f, c, o.

    Parameters
    ----------
    forget_bias : float
        Initial bias of the forget gate.

    Examples
    --------
    >>> outputs, states = mx.rnn.LSTMCell(4).unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(5, 2, 3))[1], len(states)
    ([(5, 2, 4)], 2)
    """

    _num_states = 2

    def __init__(
        self,
        num_hidden: int,
        prefix: str = "lstm_",
        params: RNNParams | None = None,
        forget_bias: float = 1.0,
    ) -> None:
        super().__init__(num_hidden, prefix, params, LSTMBias(forget_bias=forget_bias))

    @property
    def _gate_names(self):
        return ["_i", "_f", "_c", "_o"]

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Compute one step: (output, [h, c])."""
        name = self._next_step_prefix()
        i2h, h2h = self._gate_layers(inputs, states[0], name)
        i, f, c, o = symbol.SliceChannel(i2h + h2h, num_outputs=4, name=f"{name}slice")
        i = symbol.Activation(i, act_type="sigmoid", name=f"{name}i")
        f = symbol.Activation(f, act_type="sigmoid", name=f"{name}f")
        c = symbol.Activation(c, act_type="tanh", name=f"{name}c")
        o = symbol.Activation(o, act_type="sigmoid", name=f"{name}o")
        return lstm_outputs(i, f, c, o, states[1], "tanh", name)


def lstm_outputs(i, f, c, o, previous_c, activation, name):
    """Compute (h, [h, c]) from the activated gates and the cell state `previous_c`."""
    c = symbol.elemwise_add(f * previous_c, i * c, name=f"{name}state")
    if isinstance(activation, str):
        shown_state = symbol.Activation(c, act_type=activation)
    else:
        shown_state = activation(c)
    h = symbol.elemwise_mul(o, shown_state, name=f"{name}out")
    return h, [h, c]


def gru_output(i2h, h2h, previous_h, activation, name):
    """Compute the new state from the three gate parts of both layers and the state `previous_h`."""
    (i2h_r, i2h_z, i2h), (h2h_r, h2h_z, h2h) = i2h, h2h
    reset = symbol.Activation(i2h_r + h2h_r, act_type="sigmoid", name=f"{name}_r_act")
    update = symbol.Activation(i2h_z + h2h_z, act_type="sigmoid", name=f"{name}_z_act")
    new = activation(i2h + reset * h2h, name=f"{name}_h_act")
    return symbol.elemwise_add((1.0 - update) * new, update * previous_h, name=f"{name}out")


class GRUCell(_GatedCell):
    """A gated recurrent unit (GRU) cell; gates in the order r, z, o; r scales ``R h + d``.

    Examples
    --------
    >>> outputs, states = mx.rnn.GRUCell(4).unroll(2, mx.sym.Variable("data"))
    >>> states[0].name
    'gru_t1_out'
    """

    def __init__(
        self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, prefix, params)

    @property
    def _gate_names(self):
        return ["_r", "_z", "_o"]

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Compute one step: (output, [h])."""
        name = self._next_step_prefix()
        i2h, h2h = self._gate_layers(inputs, states[0], f"{name}_")
        i2h = symbol.SliceChannel(i2h, num_outputs=3, name=f"{name}_i2h_slice")
        h2h = symbol.SliceChannel(h2h, num_outputs=3, name=f"{name}_h2h_slice")

        def tanh(data, name):
            return symbol.Activation(data, act_type="tanh", name=name)

        h = gru_output(i2h, h2h, states[0], tanh, name)
        return h, [h]
