"""RNNCell, LSTMCell and GRUCell; LSTMPCell, whose output is projected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.guard import PER_BATCH_METHODS, guarded
from ...base.kinds import to_count
from .cell import HybridRecurrentCell

if TYPE_CHECKING:
    from ...typing import InitializerLike
    from ..parameter import ParameterDict


@guarded(but=(*PER_BATCH_METHODS, "hybrid_forward"))
class _GatedCell(HybridRecurrentCell):  # base of RNN, LSTM and GRU cells
    """Base of cells with one weight for the input and one for the state, over all gates."""

    _gates = 1
    _num_states = 1

    def __init__(
        self,
        hidden_size,
        i2h_weight_initializer,
        h2h_weight_initializer,
        i2h_bias_initializer,
        h2h_bias_initializer,
        input_size,
        prefix,
        params,
        projection_size=None,
        h2r_weight_initializer=None,
    ):
        super().__init__(prefix=prefix, params=params)
        hidden_size = to_count(f"{type(self).__name__}: hidden_size", hidden_size)
        self._hidden_size, self._input_size = hidden_size, input_size
        self._projection_size = projection_size
        rows = self._gates * hidden_size
        state = hidden_size if projection_size is None else projection_size
        weights = [
            ("i2h_weight", (rows, input_size), i2h_weight_initializer),
            ("h2h_weight", (rows, state), h2h_weight_initializer),
            ("h2r_weight", (state, hidden_size), h2r_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ]
        if projection_size is None:
            del weights[2]
        for name, shape, init in weights:
            param = self.params.get(name, shape=shape, init=init, allow_deferred_init=True)
            setattr(self, name, param)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        info = {"shape": (batch_size, self._hidden_size), "__layout__": "NC"}
        return [dict(info) for _ in range(self._num_states)]

    def _gate_projections(self, F, inputs, state, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        """Return the step's prefix, and the products of input and state with their weights."""
        step, rows = f"t{self._counter}_", self._gates * self._hidden_size
        i2h = F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, name=f"{step}i2h")
        h2h = F.FullyConnected(state, h2h_weight, h2h_bias, num_hidden=rows, name=f"{step}h2h")
        return step, i2h, h2h

    def _layer_sizes_text(self):
        shape = self.i2h_weight.shape
        return f"{shape[1] or None} -> {shape[0]}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._layer_sizes_text()})"


class RNNCell(_GatedCell):
    """``h' = activation(W x + b + R h + d)``.

    Parameters
    ----------
    activation : str or Block
        Activation of the new state.

    Examples
    --------
    >>> cell = mx.gluon.rnn.RNNCell(4)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape, len(states)
    ((2, 4), 1)
    """

    def __init__(
        self,
        hidden_size: int,
        activation: Any = "tanh",
        i2h_weight_initializer: InitializerLike | None = None,
        h2h_weight_initializer: InitializerLike | None = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            hidden_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            input_size,
            prefix,
            params,
        )
        self._activation = activation

    def _alias(self):
        return "rnn"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, *args: Any, **weights: Any) -> Any:
        """Compute (output, [h]) of one step."""
        step, i2h, h2h = self._gate_projections(F, inputs, states[0], *args, **weights)
        total = F.elemwise_add(i2h, h2h, name=f"{step}plus0")
        output = self._get_activation(F, total, self._activation, name=f"{step}out")
        return output, [output]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._layer_sizes_text()}, {self._activation})"


@guarded(but=("hybrid_forward",))
class _TwoActivationCell(_GatedCell):  # base of LSTM and GRU cells
    """Base of cells with one activation for the state and one for the gates."""

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: InitializerLike | None = None,
        h2h_weight_initializer: InitializerLike | None = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
    ) -> None:
        super().__init__(
            hidden_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            input_size,
            prefix,
            params,
        )
        self._activation = activation
        self._recurrent_activation = recurrent_activation


class LSTMCell(_TwoActivationCell):
    """A long short-term memory; gates in the order i, f, c, o.

    Parameters
    ----------
    activation, recurrent_activation : str or Block
        Activations of the cell state and of the gates.

    Examples
    --------
    >>> cell = mx.gluon.rnn.LSTMCell(4)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape, len(states)
    ((2, 4), 2)
    """

    _gates = 4
    _num_states = 2

    def _alias(self):
        return "lstm"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, *args: Any, **weights: Any) -> Any:
        """Compute (output, [h, c]) of one step."""
        step, i2h, h2h = self._gate_projections(F, inputs, states[0], *args, **weights)
        gates = F.elemwise_add(i2h, h2h, name=f"{step}plus0")
        i, f, c, o = F.SliceChannel(gates, num_outputs=4, name=f"{step}slice")
        i = self._get_activation(F, i, self._recurrent_activation, name=f"{step}i")
        f = self._get_activation(F, f, self._recurrent_activation, name=f"{step}f")
        c = self._get_activation(F, c, self._activation, name=f"{step}c")
        o = self._get_activation(F, o, self._recurrent_activation, name=f"{step}o")
        c = F.elemwise_add(f * states[1], i * c, name=f"{step}state")
        h = F.elemwise_mul(o, self._get_activation(F, c, self._activation), name=f"{step}out")
        return h, [h, c]


class GRUCell(_TwoActivationCell):
    """A gated recurrent unit; gates in the order r, z, n; r multiplies the state's projection in n.

    Parameters
    ----------
    activation, recurrent_activation : str or Block
        Activations of the new state and of the gates.

    Examples
    --------
    >>> cell = mx.gluon.rnn.GRUCell(4)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 3)), cell.begin_state(batch_size=2))
    >>> output.shape, len(states)
    ((2, 4), 1)
    """

    _gates = 3

    def _alias(self):
        return "gru"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, *args: Any, **weights: Any) -> Any:
        """Compute (output, [h]) of one step."""
        before = states[0]
        step, i2h, h2h = self._gate_projections(F, inputs, before, *args, **weights)
        i2h_r, i2h_z, i2h = F.SliceChannel(i2h, num_outputs=3, name=f"{step}i2h_slice")
        h2h_r, h2h_z, h2h = F.SliceChannel(h2h, num_outputs=3, name=f"{step}h2h_slice")
        gate = self._recurrent_activation
        reset = self._get_activation(F, i2h_r + h2h_r, gate, name=f"{step}r_act")
        update = self._get_activation(F, i2h_z + h2h_z, gate, name=f"{step}z_act")
        new = self._get_activation(F, i2h + reset * h2h, self._activation, name=f"{step}h_act")
        h = F.elemwise_add((1.0 - update) * new, update * before, name=f"{step}out")
        return h, [h]


class LSTMPCell(_GatedCell):
    """A long short-term memory whose output is a projection of its hidden state.

    Parameters
    ----------
    hidden_size, projection_size : int
        Sizes of the cell state and of the projected state, which is the output.

    Examples
    --------
    >>> cell = mx.gluon.contrib.rnn.LSTMPCell(8, 3)
    >>> cell.initialize()
    >>> output, states = cell(mx.nd.ones((2, 5)), cell.begin_state(batch_size=2))
    >>> output.shape, [state.shape for state in states]
    ((2, 3), [(2, 3), (2, 8)])
    """

    _gates = 4

    def __init__(
        self,
        hidden_size: int,
        projection_size: int,
        i2h_weight_initializer: InitializerLike | None = None,
        h2h_weight_initializer: InitializerLike | None = None,
        h2r_weight_initializer: InitializerLike | None = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(
            hidden_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            input_size,
            prefix,
            params,
            projection_size,
            h2r_weight_initializer,
        )

    def _alias(self):
        return "lstmp"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape and ``__layout__`` of the projected state and of the memory."""
        sizes = (self._projection_size, self._hidden_size)
        return [{"shape": (batch_size, size), "__layout__": "NC"} for size in sizes]

    def hybrid_forward(
        self,
        F: Any,
        inputs: Any,
        states: Any,
        i2h_weight: Any,
        h2h_weight: Any,
        h2r_weight: Any,
        i2h_bias: Any,
        h2h_bias: Any,
    ) -> Any:
        """Compute (output, [output, c]) of one step."""
        step, i2h, h2h = self._gate_projections(
            F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias
        )
        i, f, c, o = F.SliceChannel(F.elemwise_add(i2h, h2h), num_outputs=4, name=f"{step}slice")
        i = F.Activation(i, act_type="sigmoid", name=f"{step}i")
        f = F.Activation(f, act_type="sigmoid", name=f"{step}f")
        c = F.Activation(c, act_type="tanh", name=f"{step}c")
        o = F.Activation(o, act_type="sigmoid", name=f"{step}o")
        c = F.elemwise_add(F.elemwise_mul(f, states[1]), F.elemwise_mul(i, c), name=f"{step}state")
        hidden = F.elemwise_mul(o, F.Activation(c, act_type="tanh"), name=f"{step}hidden")
        output = F.FullyConnected(
            hidden, h2r_weight, num_hidden=self._projection_size, no_bias=True, name=f"{step}out"
        )
        return output, [output, c]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._layer_sizes_text()} -> {self._projection_size})"
