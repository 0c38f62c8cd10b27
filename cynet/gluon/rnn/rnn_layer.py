"""RNN, LSTM and GRU layers: all steps and layers by one operator."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ... import ndarray, symbol
from ...base.errors import ArgumentError, shown
from ...base.guard import PER_BATCH_METHODS, guarded
from ...base.kinds import check_flag, to_count, to_index
from ...base.np_shape import is_np_shape
from ...ndarray import NDArray
from ...symbol import Symbol
from ..block import HybridBlock
from ..errors import MismatchError
from .begin_state import returns_arrays, to_active_array_class
from .cells import GRUCell, LSTMCell, LSTMPCell, RNNCell
from .modifiers import DropoutCell
from .stacks import BidirectionalCell, HybridSequentialRNNCell

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...typing import DTypeLike, InitializerLike

__all__ = ["GRU", "LSTM", "RNN"]

_PARAMETER_NAME = re.compile(r"(l|r)(\d+)_(i2h|h2h|h2r)_(weight|bias)")  # direction, layer, which
_PARAMETER_PARTS = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias", "h2r_weight")


@guarded(but=(*PER_BATCH_METHODS, "hybrid_forward"))
class _RNNLayer(HybridBlock):
    """Base of the recurrent layers RNN, LSTM and GRU."""

    _gates = 1

    def __init__(
        self,
        hidden_size,
        num_layers,
        layout,
        dropout,
        bidirectional,
        input_size,
        initializers,
        mode,
        dtype="float32",
        projection_size=None,
        use_sequence_length=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_flag(type(self).__name__, "use_sequence_length", use_sequence_length)
        self._use_sequence_length = use_sequence_length
        if layout not in ("TNC", "NTC"):
            raise MismatchError(f"layout is 'TNC' or 'NTC', got {shown(layout)}")
        hidden_size = to_count(f"{type(self).__name__}: hidden_size", hidden_size)
        num_layers = to_count(f"{type(self).__name__}: num_layers", num_layers)
        self._hidden_size, self._num_layers, self._layout = hidden_size, num_layers, layout
        self._mode, self._dropout, self._dtype = mode, dropout, dtype
        self._input_size = input_size
        self._dir = 2 if bidirectional else 1
        self._projection_size = projection_size
        self._out_size = hidden_size if projection_size is None else projection_size
        rows, inputs = self._gates * hidden_size, input_size
        for i in range(num_layers):
            for side in "lr"[: self._dir]:
                shapes = [(rows, inputs), (rows, self._out_size), (rows,), (rows,)]
                if projection_size is not None:
                    shapes.append((projection_size, hidden_size))
                for name, shape, init in zip(_PARAMETER_PARTS, shapes, initializers):
                    name = f"{side}{i}_{name}"
                    param = self.params.get(
                        name, shape=shape, init=init, allow_deferred_init=True, dtype=dtype
                    )
                    setattr(self, name, param)
            inputs = self._out_size * self._dir

    def __repr__(self) -> str:
        inputs = self.l0_i2h_weight.shape[1] or None
        text = f"{inputs} -> {self._hidden_size}, {self._layout}"
        if self._num_layers != 1:
            text += f", num_layers={self._num_layers}"
        if self._dropout != 0:
            text += f", dropout={self._dropout}"
        if self._dir == 2:
            text += ", bidirectional"
        return f"{type(self).__name__}({text})"

    def _collect_params_with_prefix(self, prefix=""):
        """Return parameters by the names of `_unfuse`, for files compatible with cells."""
        if prefix:
            prefix += "."
        found = {}
        for name, each in self._reg_params.items():
            match = _PARAMETER_NAME.fullmatch(name)
            if match is not None:
                side, layer, part, kind = match.groups()
                cell = f"{side}_cell." if self._dir == 2 else ""
                name = f"_unfused.{layer}.{cell}{part}_{kind}"
            found[prefix + name] = each
        return found

    def infer_shape(self, inputs: Any, *args: Any) -> None:
        """Fill in unknown shapes of parameters from the inputs' shape."""
        self._check_axes(inputs)
        size = inputs.shape[2]
        for i in range(self._num_layers):
            for side in "lr"[: self._dir]:
                param = getattr(self, f"{side}{i}_i2h_weight")
                param.shape = (param.shape[0], size)
            size = self._out_size * self._dir

    def _check_axes(self, inputs):
        if len(inputs.shape) != 3:
            raise ArgumentError(
                f"{self.name}: inputs must have 3 axes ({self._layout}), got shape {inputs.shape}"
            )

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Return the shape, ``__layout__`` and dtype of each state.

        Returns
        -------
        list of dict

        Examples
        --------
        >>> mx.gluon.rnn.GRU(8, num_layers=2).state_info(batch_size=4)
        [{'shape': (2, 4, 8), '__layout__': 'LNC', 'dtype': 'float32'}]
        """
        sizes = [self._out_size, self._hidden_size][: 2 if self._mode == "lstm" else 1]
        info = {"__layout__": "LNC", "dtype": self._dtype}
        rows = self._num_layers * self._dir
        return [{"shape": (rows, batch_size, size), **info} for size in sizes]

    def cast(self, dtype: DTypeLike) -> None:
        """Change the dtype of the parameters and of states."""
        super().cast(dtype)
        self._dtype = dtype

    def begin_state(
        self, batch_size: int = 0, func: Callable[..., Any] | None = None, **kwargs: Any
    ) -> list[Any]:
        """Return the initial states, (layers * directions, batch, hidden or projection size) each.

        Parameters
        ----------
        func : callable, optional
            Makes a state, called with its shape; ``mx.nd.zeros`` by default.
        **kwargs
            Arguments of `func`.

        Returns
        -------
        list of NDArray

        Examples
        --------
        >>> layer = mx.gluon.rnn.LSTM(8, num_layers=2)
        >>> [state.shape for state in layer.begin_state(batch_size=4)]
        [(2, 4, 8), (2, 4, 8)]
        """
        func = ndarray.zeros if func is None else func
        states = []
        for i, info in enumerate(self.state_info(batch_size)):
            settings = {**info, **kwargs}
            if returns_arrays(func):
                settings.pop("__layout__", None)
            else:
                settings["name"] = f"{self.prefix}h0_{i}"
            states.append(to_active_array_class(func(**settings)))
        return states

    def _cell_maker(self):
        """Return a function that creates a cell of the layer's mode."""
        if self._projection_size is not None:
            return lambda **kw: LSTMPCell(self._hidden_size, self._projection_size, **kw)
        return {
            "rnn_relu": lambda **kw: RNNCell(self._hidden_size, activation="relu", **kw),
            "rnn_tanh": lambda **kw: RNNCell(self._hidden_size, activation="tanh", **kw),
            "lstm": lambda **kw: LSTMCell(self._hidden_size, **kw),
            "gru": lambda **kw: GRUCell(self._hidden_size, **kw),
        }[self._mode]

    def _unfuse(self):
        """Return stacked cells with the same parameters."""
        stack = HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        make, inputs = self._cell_maker(), self._input_size
        with stack.name_scope():
            for i in range(self._num_layers):
                sides = [
                    make(prefix=f"{side}{i}_", input_size=inputs) for side in "lr"[: self._dir]
                ]
                stack.add(sides[0] if self._dir == 1 else BidirectionalCell(*sides))
                if self._dropout > 0 and i != self._num_layers - 1:
                    stack.add(DropoutCell(self._dropout))
                inputs = self._out_size * self._dir
        return stack

    def __call__(
        self, inputs: Any, states: Any = None, sequence_length: Any = None, **kwargs: Any
    ) -> Any:
        """Compute the output; with `states` (output, [states])."""
        if sequence_length is not None:
            kwargs["sequence_length"] = sequence_length
        elif self._use_sequence_length:
            raise ArgumentError(
                f"{self.name}: use_sequence_length=True, and there is no sequence_length in this"
                " call, an array of the length of each sequence"
            )
        if states is None:
            return super().__call__(inputs, **kwargs)
        if isinstance(states, (NDArray, Symbol)):
            states = [states]
        if isinstance(inputs, NDArray):
            batch = inputs.shape[self._layout.find("N")] if inputs.ndim == 3 else 0
            wanted = [info["shape"] for info in self.state_info(batch)]
            found = [each.shape for each in states]
            if wanted != found:
                raise ArgumentError(
                    f"{self.name}: states of shapes {wanted} are expected, got {found}"
                )
        return super().__call__(inputs, list(states), **kwargs)

    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any = None, sequence_length: Any = None, **params: Any
    ) -> Any:
        """Compute the output; with `states` (output, [states])."""
        skips = states is None
        if skips:
            if isinstance(inputs, Symbol):
                unknown = -1 if is_np_shape() else 0
                states = self.begin_state(unknown, func=symbol.zeros)
            else:
                self._check_axes(inputs)
                batch = inputs.shape[self._layout.find("N")]
                states = self.begin_state(batch, ctx=inputs.context, dtype=inputs.dtype)
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, dim1=0, dim2=1)
        flat = [
            F.reshape(params[f"{side}{i}_{part}_{kind}"], shape=(-1,))
            for kind in ("weight", "bias")
            for i in range(self._num_layers)
            for side in "lr"[: self._dir]
            for part in ("i2h", "h2h", "h2r")
            if f"{side}{i}_{part}_{kind}" in params
        ]
        settings = {}
        if self._projection_size is not None:
            settings["projection_size"] = self._projection_size
        if sequence_length is not None:
            settings.update(sequence_length=sequence_length, use_sequence_length=True)
        out = F.RNN(
            inputs,
            F.concat(*flat, dim=0),
            *states,
            state_size=self._hidden_size,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            p=self._dropout,
            state_outputs=True,
            mode=self._mode,
            **self._clipping_params(),
            **settings,
        )
        output, new = out[0], [out[i] for i in range(1, 3 if self._mode == "lstm" else 2)]
        if self._layout == "NTC":
            output = F.swapaxes(output, dim1=0, dim2=1)
        return output if skips else (output, new)

    def _clipping_params(self):
        return {}


class RNN(_RNNLayer):
    """Layers of simple (Elman) recurrent units.

    Parameters
    ----------
    hidden_size : int
        Size of the state of each direction.
    activation : str
        ``'relu'`` or ``'tanh'``.

    Raises
    ------
    ArgumentError
        `activation` is neither 'relu' nor 'tanh'.

    Examples
    --------
    >>> layer = mx.gluon.rnn.RNN(4)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((5, 2, 3))).shape
    (5, 2, 4)
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: InitializerLike | None = None,
        h2h_weight_initializer: InitializerLike | None = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        input_size: int = 0,
        dtype: DTypeLike = "float32",
        use_sequence_length: bool = False,
        **kwargs: Any,
    ) -> None:
        if activation not in ("relu", "tanh"):
            raise ArgumentError(
                f"RNN: activation must be 'relu' or 'tanh', got {shown(activation)}"
            )
        super().__init__(
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            (
                i2h_weight_initializer,
                h2h_weight_initializer,
                i2h_bias_initializer,
                h2h_bias_initializer,
            ),
            f"rnn_{activation}",
            dtype,
            use_sequence_length=use_sequence_length,
            **kwargs,
        )


class LSTM(_RNNLayer):
    """Layers of long short-term memories.

    Parameters
    ----------
    hidden_size : int
        Size of the state of each direction.
    projection_size : int, optional
        Size of the output and of its state, which are projected to it; by default there is no
        projection.
    state_clip_min, state_clip_max : float, optional
        Bounds to which cell states are clipped.
    state_clip_nan : bool
        Whether NaN is replaced by `state_clip_min`.

    Raises
    ------
    ArgumentError
        `projection_size` is below 1.

    Examples
    --------
    >>> layer = mx.gluon.rnn.LSTM(4, layout="NTC")
    >>> layer.initialize()
    >>> output, states = layer(mx.nd.ones((2, 5, 3)), layer.begin_state(batch_size=2))
    >>> output.shape, [each.shape for each in states]
    ((2, 5, 4), [(1, 2, 4), (1, 2, 4)])
    """

    _gates = 4

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: InitializerLike | None = None,
        h2h_weight_initializer: InitializerLike | None = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: InitializerLike | None = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: DTypeLike = "float32",
        use_sequence_length: bool = False,
        **kwargs: Any,
    ) -> None:
        if projection_size is not None:
            projection_size = to_index("LSTM: projection_size", projection_size)
            if projection_size < 1:
                raise ArgumentError(f"LSTM: projection_size is {projection_size}, expected >= 1")
        super().__init__(
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            (
                i2h_weight_initializer,
                h2h_weight_initializer,
                i2h_bias_initializer,
                h2h_bias_initializer,
                h2r_weight_initializer,
            ),
            "lstm",
            dtype,
            projection_size,
            use_sequence_length,
            **kwargs,
        )
        self._clip = (state_clip_min, state_clip_max, state_clip_nan)

    def _clipping_params(self):
        names = ("lstm_state_clip_min", "lstm_state_clip_max", "lstm_state_clip_nan")
        return {} if self._clip[0] is None else dict(zip(names, self._clip))


class GRU(_RNNLayer):
    """Layers of gated recurrent units.

    Parameters
    ----------
    hidden_size : int
        Size of the state of each direction.

    Examples
    --------
    >>> layer = mx.gluon.rnn.GRU(4, bidirectional=True)
    >>> layer.initialize()
    >>> layer(mx.nd.ones((5, 2, 3))).shape
    (5, 2, 8)
    """

    _gates = 3

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: InitializerLike | None = None,
        h2h_weight_initializer: InitializerLike | None = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        dtype: DTypeLike = "float32",
        use_sequence_length: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            (
                i2h_weight_initializer,
                h2h_weight_initializer,
                i2h_bias_initializer,
                h2h_bias_initializer,
            ),
            "gru",
            dtype,
            use_sequence_length=use_sequence_length,
            **kwargs,
        )
