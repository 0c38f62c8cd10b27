"""Convolutional recurrent cells: RNN, LSTM and GRU over one to three spatial axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentError, shown
from ....base.guard import PER_BATCH_METHODS, guarded
from ....operator.nn.spatial_window import CHANNELS_FIRST
from ...errors import MismatchError
from ...nn.conv_layers import LAYOUT_DOCS, axis_sizes, check_layout
from ...rnn import HybridRecurrentCell

if TYPE_CHECKING:
    from ....typing import InitializerLike, ShapeLike
    from ...parameter import ParameterDict

__all__ = [
    "Conv1DGRUCell",
    "Conv1DLSTMCell",
    "Conv1DRNNCell",
    "Conv2DGRUCell",
    "Conv2DLSTMCell",
    "Conv2DRNNCell",
    "Conv3DGRUCell",
    "Conv3DLSTMCell",
    "Conv3DRNNCell",
]


_DOC_TEMPLATE = """{about}

Parameters
----------
input_shape : tuple of int
    Shape of one input, without the batch: ``{inputs}``.
hidden_channels : int
    Number of channels of the states and of the output.
i2h_kernel, h2h_kernel : int or tuple of int
    Kernels of the convolutions of the input and of the state; the second is odd.
i2h_pad : int or tuple of int
    Padding of the input; the state is padded so that it keeps its extent.
i2h_dilate, h2h_dilate : int or tuple of int
    Dilations of the convolutions of the input and of the state.
i2h_weight_initializer, h2h_weight_initializer : Initializer or str, optional
    Initializers of the weights of the input and of the state.
i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    Initializers of the biases that go with them.
conv_layout : str, optional
    Order of the axes, {layouts}.
activation : str or Block
    Activation of {activated}.
prefix : str, optional
    Prefix of the parameters' names; by default made from the class's name and a number.
params : ParameterDict, optional
    Dictionary whose parameters are shared, by name.

Examples
--------
>>> cell = mx.gluon.contrib.rnn.{name}({sizes}, 4, 3, 3, i2h_pad=1)
>>> cell.initialize()
>>> output, states = cell(mx.nd.ones((1, {axes})), cell.begin_state(batch_size=1))
>>> output.shape, len(states)
((1, 4, {spatial}), {states})
"""
_EXAMPLE_SIZES = {1: (2, 8), 2: (2, 8, 8), 3: (2, 4, 8, 8)}  # axes -> input shape
_INPUT_SHAPES = {1: "(C, W)", 2: "(C, H, W)", 3: "(C, D, H, W)"}  # axes -> text for docstrings


@guarded(but=(*PER_BATCH_METHODS, "hybrid_forward"))
class _ConvCell(HybridRecurrentCell):
    """A cell with a convolution of the input and one of the state, for each gate."""

    _axes = 0
    _gates = 1
    _num_states = 1
    _hint = ""
    _activated = ""  # docstring text about the activation

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls._axes:
            sizes = _EXAMPLE_SIZES[cls._axes]
            cls.__doc__ = _DOC_TEMPLATE.format(
                about=cls.__doc__,
                name=cls.__name__,
                inputs=_INPUT_SHAPES[cls._axes],
                layouts=LAYOUT_DOCS[cls._axes],
                activated=cls._activated,
                sizes=sizes,
                axes=", ".join(map(str, sizes)),
                spatial=", ".join(map(str, sizes[1:])),
                states=cls._num_states,
            )

    def __init__(
        self,
        input_shape: ShapeLike,
        hidden_channels: int,
        i2h_kernel: ShapeLike,
        h2h_kernel: ShapeLike,
        i2h_pad: ShapeLike = 0,
        i2h_dilate: ShapeLike = 1,
        h2h_dilate: ShapeLike = 1,
        i2h_weight_initializer: InitializerLike | None = None,
        h2h_weight_initializer: InitializerLike | None = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        conv_layout: str | None = None,
        activation: Any = "tanh",
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        axes = self._axes
        layout = CHANNELS_FIRST[axes] if conv_layout is None else conv_layout
        check_layout(layout, axes)
        what = type(self).__name__
        shape = axis_sizes(f"{what}: input_shape", input_shape, axes + 1)
        self._input_shape, self._channels = shape, hidden_channels
        self._activation, self._layout = activation, layout
        self._channel_axis = layout.index("C")
        h2h = axis_sizes("h2h_kernel", h2h_kernel, axes)
        if any(each % 2 == 0 for each in h2h):
            raise MismatchError(
                f"{what}: h2h_kernel must be odd, for the state keeps its size; got"
                f" {shown(h2h_kernel)}"
            )
        i2h = axis_sizes("i2h_kernel", i2h_kernel, axes)
        self._i2h = {
            "kernel": i2h,
            "pad": axis_sizes("i2h_pad", i2h_pad, axes),
            "dilate": axis_sizes("i2h_dilate", i2h_dilate, axes),
        }
        dilate = axis_sizes("h2h_dilate", h2h_dilate, axes)
        pad = tuple(d * (k - 1) // 2 for d, k in zip(dilate, h2h))
        self._h2h = {"kernel": h2h, "pad": pad, "dilate": dilate}
        for each in (self._i2h, self._h2h):
            each |= {"stride": (1,) * axes, "num_filter": self._gates * hidden_channels}
            each["layout"] = layout
        self._set_state_shape()
        inputs = shape[self._channel_axis - 1]
        rows = self._gates * hidden_channels
        for name, size, init in (
            ("i2h_weight", self._weight_shape(inputs, i2h), i2h_weight_initializer),
            ("h2h_weight", self._weight_shape(hidden_channels, h2h), h2h_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            param = self.params.get(name, shape=size, init=init, allow_deferred_init=True)
            setattr(self, name, param)

    def _set_state_shape(self):
        spatial = list(self._input_shape)
        del spatial[self._channel_axis - 1]
        pairs = zip(spatial, self._i2h["kernel"], self._i2h["pad"], self._i2h["dilate"])
        state = [size + 2 * pad - dilate * (kernel - 1) for size, kernel, pad, dilate in pairs]
        if min(state) < 1:
            raise ArgumentError(
                f"{type(self).__name__}: inputs {self._input_shape} are smaller than i2h_kernel"
                f" {self._i2h['kernel']} with i2h_pad {self._i2h['pad']}"
            )
        state.insert(self._channel_axis - 1, self._channels)
        self._state_shape = tuple(state)

    def _weight_shape(self, inputs, kernel):
        rest = [*kernel]
        rest.insert(self._channel_axis - 1, inputs)
        return (self._gates * self._channels, *rest)

    def _alias(self):
        return self._hint

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        info = {"shape": (batch_size, *self._state_shape), "__layout__": self._layout}
        return [dict(info) for _ in range(self._num_states)]

    def _gate_convolutions(self, F, inputs, state, i2h_weight, h2h_weight, i2h_bias, h2h_bias):
        """Return the step's prefix, and the convolutions of input and state."""
        step = f"t{self._counter}_"
        i2h = F.Convolution(inputs, i2h_weight, i2h_bias, name=f"{step}i2h", **self._i2h)
        h2h = F.Convolution(state, h2h_weight, h2h_bias, name=f"{step}h2h", **self._h2h)
        return step, i2h, h2h

    def _split_gates(self, F, value, name):
        return F.SliceChannel(value, num_outputs=self._gates, axis=self._channel_axis, name=name)

    def __repr__(self) -> str:
        inputs = self._input_shape[self._channel_axis - 1]
        return (
            f"{type(self).__name__}({inputs} -> {self._gates * self._channels},"
            f" {self._activation}, {self._layout})"
        )


class _ConvRNNCell(_ConvCell):
    _hint = "conv_rnn"
    _activated = "the new state"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, *args: Any, **weights: Any) -> Any:
        """Compute (output, [h]) of one step."""
        step, i2h, h2h = self._gate_convolutions(F, inputs, states[0], *args, **weights)
        total = F.elemwise_add(i2h, h2h)
        output = self._get_activation(F, total, self._activation, name=f"{step}out")
        return output, [output]


class _ConvLSTMCell(_ConvCell):
    _gates = 4
    _num_states = 2
    _hint = "conv_lstm"
    _activated = "the candidate cell and of the output"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, *args: Any, **weights: Any) -> Any:
        """Compute (output, [h, c]) of one step."""
        step, i2h, h2h = self._gate_convolutions(F, inputs, states[0], *args, **weights)
        i, f, c, o = self._split_gates(F, F.elemwise_add(i2h, h2h), f"{step}slice")
        i = F.Activation(i, act_type="sigmoid", name=f"{step}i")
        f = F.Activation(f, act_type="sigmoid", name=f"{step}f")
        c = self._get_activation(F, c, self._activation, name=f"{step}c")
        o = F.Activation(o, act_type="sigmoid", name=f"{step}o")
        c = F.elemwise_add(F.elemwise_mul(f, states[1]), F.elemwise_mul(i, c), name=f"{step}state")
        h = F.elemwise_mul(o, self._get_activation(F, c, self._activation), name=f"{step}out")
        return h, [h, c]


class _ConvGRUCell(_ConvCell):
    _gates = 3
    _hint = "conv_gru"
    _activated = "the candidate state"

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, *args: Any, **weights: Any) -> Any:
        """Compute (output, [h]) of one step."""
        before = states[0]
        step, i2h, h2h = self._gate_convolutions(F, inputs, before, *args, **weights)
        i2h_r, i2h_z, i2h = self._split_gates(F, i2h, f"{step}i2h_slice")
        h2h_r, h2h_z, h2h = self._split_gates(F, h2h, f"{step}h2h_slice")
        reset = F.Activation(F.elemwise_add(i2h_r, h2h_r), act_type="sigmoid", name=f"{step}r_act")
        update = F.Activation(F.elemwise_add(i2h_z, h2h_z), act_type="sigmoid", name=f"{step}z_act")
        total = F.elemwise_add(i2h, F.elemwise_mul(reset, h2h))
        new = self._get_activation(F, total, self._activation, name=f"{step}h_act")
        fresh, old = F.elemwise_mul(1.0 - update, new), F.elemwise_mul(update, before)
        h = F.elemwise_add(fresh, old, name=f"{step}out")
        return h, [h]


class Conv1DRNNCell(_ConvRNNCell):
    """A recurrent cell over steps, with convolutions in place of matrix products."""

    _axes = 1


class Conv1DLSTMCell(_ConvLSTMCell):
    """A long short-term memory over steps, with convolutions in place of matrix products."""

    _axes = 1


class Conv1DGRUCell(_ConvGRUCell):
    """A gated recurrent unit over steps, with convolutions in place of matrix products."""

    _axes = 1


class Conv2DRNNCell(_ConvRNNCell):
    """A recurrent cell over images, with convolutions in place of matrix products."""

    _axes = 2


class Conv2DLSTMCell(_ConvLSTMCell):
    """A long short-term memory over images, with convolutions in place of matrix products."""

    _axes = 2


class Conv2DGRUCell(_ConvGRUCell):
    """A gated recurrent unit over images, with convolutions in place of matrix products."""

    _axes = 2


class Conv3DRNNCell(_ConvRNNCell):
    """A recurrent cell over volumes, with convolutions in place of matrix products."""

    _axes = 3


class Conv3DLSTMCell(_ConvLSTMCell):
    """A long short-term memory over volumes, with convolutions in place of matrix products."""

    _axes = 3


class Conv3DGRUCell(_ConvGRUCell):
    """A gated recurrent unit over volumes, with convolutions in place of matrix products."""

    _axes = 3
