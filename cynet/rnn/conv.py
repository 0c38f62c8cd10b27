"""ConvRNNCell, ConvLSTMCell and ConvGRUCell: cells whose products are convolutions."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .. import symbol
from ..base.errors import ArgumentError
from ..operator.paragraphs import with_paragraphs
from ..symbol import Symbol
from .base import BaseRNNCell, RNNParams
from .cells import gru_output, lstm_outputs

if TYPE_CHECKING:
    from ..typing import InitializerLike, Shape

__all__ = ["BaseConvRNNCell", "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell"]

_add_cell_docs = with_paragraphs(  # decorator that adds shared docs
    parameters="""Parameters
----------
input_shape : tuple of int
    Shape of an input with its batch, which may have another size later.
num_hidden : int
    Number of channels of the states.
h2h_kernel, h2h_dilate : pair of int
    Kernel, which is odd, and dilation of the convolution of the state.
i2h_kernel, i2h_stride, i2h_pad, i2h_dilate : pair of int
    Settings of the convolution of the input.
i2h_weight_initializer, h2h_weight_initializer : Initializer or str, optional
    Initializers of the weights of the input and of the state.
i2h_bias_initializer, h2h_bias_initializer : Initializer or str
    Initializers of the biases that go with them.
activation : str or callable
    Name of an activation, or a function of symbols; a leaky ReLU of slope 0.2 by default.
prefix : str, optional
    Prefix of its symbols' names.
params : RNNParams, optional
    Weights to share; new ones by default.
conv_layout : str
    Order of the axes, ``'NCHW'`` or ``'NHWC'``.

Raises
------
ArgumentError
    `h2h_kernel` is even."""
)
_LEAKY_RELU = functools.partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(BaseRNNCell):
    """Base of cells whose gates are convolutions of the input and of the state.

    Parameters
    ----------
    input_shape : tuple of int
        Shape of an input with its batch, which may have another size later.
    num_hidden : int
        Number of channels of the states.
    h2h_kernel, h2h_dilate : pair of int
        Kernel, which is odd, and dilation of the convolution of the state.
    i2h_kernel, i2h_stride, i2h_pad, i2h_dilate : pair of int
        Settings of the convolution of the input.
    i2h_weight_initializer, h2h_weight_initializer : Initializer or str, optional
        Initializers of the weights of the input and of the state.
    i2h_bias_initializer, h2h_bias_initializer : Initializer or str
        Initializers of the biases that go with them.
    conv_layout : str
        Order of the axes, ``'NCHW'`` or ``'NHWC'``.

    Raises
    ------
    ArgumentError
        `h2h_kernel` is even.

    Examples
    --------
    >>> cell = mx.rnn.ConvRNNCell((2, 3, 8, 8), num_hidden=4)
    >>> isinstance(cell, mx.rnn.BaseRNNCell), cell.state_info
    (True, [{'shape': (0, 4, 8, 8), '__layout__': 'NCHW'}])
    """

    def __init__(
        self,
        input_shape: Shape,
        num_hidden: int,
        h2h_kernel: Shape,
        h2h_dilate: Shape,
        i2h_kernel: Shape,
        i2h_stride: Shape,
        i2h_pad: Shape,
        i2h_dilate: Shape,
        i2h_weight_initializer: InitializerLike | None,
        h2h_weight_initializer: InitializerLike | None,
        i2h_bias_initializer: InitializerLike,
        h2h_bias_initializer: InitializerLike,
        activation: Any,
        prefix: str = "",
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        if not all(extent % 2 for extent in h2h_kernel):
            raise ArgumentError(f"{type(self).__name__}: h2h_kernel must be odd, got {h2h_kernel}")
        self._num_hidden = num_hidden
        self._conv_layout = conv_layout
        self._activation = activation
        pad = tuple(step * (extent - 1) // 2 for extent, step in zip(h2h_kernel, h2h_dilate))
        self._h2h = {"kernel": h2h_kernel, "pad": pad, "dilate": h2h_dilate, "stride": (1, 1)}
        self._i2h = {
            "kernel": i2h_kernel,
            "pad": i2h_pad,
            "dilate": i2h_dilate,
            "stride": i2h_stride,
        }
        out = symbol.Convolution(
            symbol.Variable("data"), num_filter=num_hidden, layout=conv_layout, **self._i2h
        )
        self._state_shape = (0, *out.infer_shape(data=input_shape)[1][0][1:])
        self._iW = self._weight_variable("i2h_weight", i2h_weight_initializer)
        self._hW = self._weight_variable("h2h_weight", h2h_weight_initializer)
        self._iB = self._weight_variable("i2h_bias", i2h_bias_initializer)
        self._hB = self._weight_variable("h2h_bias", h2h_bias_initializer)
        self._own_params = params is None

    def _weight_variable(self, name, init):
        return self.params.get(name, **({} if init is None else {"init": init}))

    @property
    def _num_gates(self):
        return len(self._gate_names)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and ``__layout__`` of each state."""
        return [{"shape": self._state_shape, "__layout__": self._conv_layout}]

    def _conv_forward(self, inputs, states, name):
        """Return the convolutions of the input and of the state, for all gates."""
        count = self._num_hidden * self._num_gates
        settings = {"num_filter": count, "layout": self._conv_layout}
        i2h = symbol.Convolution(
            inputs, self._iW, self._iB, name=f"{name}i2h", **settings, **self._i2h
        )
        h2h = symbol.Convolution(
            states[0], self._hW, self._hB, name=f"{name}h2h", **settings, **self._h2h
        )
        return i2h, h2h

    def _next_step_prefix(self):
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"


class _ConvCell(BaseConvRNNCell):  # base of the three cells below
    """Base of the three convolutional cells, with their default arguments."""

    _DEFAULT_PREFIX = ""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _add_cell_docs(cls)

    def __init__(
        self,
        input_shape: Shape,
        num_hidden: int,
        h2h_kernel: Shape = (3, 3),
        h2h_dilate: Shape = (1, 1),
        i2h_kernel: Shape = (3, 3),
        i2h_stride: Shape = (1, 1),
        i2h_pad: Shape = (1, 1),
        i2h_dilate: Shape = (1, 1),
        i2h_weight_initializer: InitializerLike | None = None,
        h2h_weight_initializer: InitializerLike | None = None,
        i2h_bias_initializer: InitializerLike = "zeros",
        h2h_bias_initializer: InitializerLike = "zeros",
        activation: Any = _LEAKY_RELU,
        prefix: str | None = None,
        params: RNNParams | None = None,
        conv_layout: str = "NCHW",
    ) -> None:
        super().__init__(
            input_shape,
            num_hidden,
            h2h_kernel,
            h2h_dilate,
            i2h_kernel,
            i2h_stride,
            i2h_pad,
            i2h_dilate,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            activation,
            self._DEFAULT_PREFIX if prefix is None else prefix,
            params,
            conv_layout,
        )


class ConvRNNCell(_ConvCell):
    """``h' = activation(W * x + b + R * h + d)``, with convolutions; see `BaseConvRNNCell`.

    Shi et al., https://arxiv.org/abs/1506.04214.

    {parameters}

    Examples
    --------
    >>> cell = mx.rnn.ConvRNNCell((2, 3, 8, 8), num_hidden=4)
    >>> outputs, states = cell.unroll(2, [mx.sym.Variable("t0"), mx.sym.Variable("t1")])
    >>> outputs[1].infer_shape(t0=(2, 3, 8, 8), t1=(2, 3, 8, 8))[1]
    [(2, 4, 8, 8)]
    """

    _DEFAULT_PREFIX = "ConvRNN_"

    @property
    def _gate_names(self):
        return ("",)

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Compute one step: (output, [h])."""
        name = self._next_step_prefix()
        i2h, h2h = self._conv_forward(inputs, states, name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


class ConvLSTMCell(_ConvCell):
    """An LSTM cell with convolutions; gates in the order i, f, c, o; see `BaseConvRNNCell`.

    {parameters}

    Examples
    --------
    >>> cell = mx.rnn.ConvLSTMCell(input_shape=(2, 3, 8, 8), num_hidden=4)
    >>> cell.state_shape
    [(0, 4, 8, 8), (0, 4, 8, 8)]
    """

    _DEFAULT_PREFIX = "ConvLSTM_"

    @property
    def _gate_names(self):
        return ["_i", "_f", "_c", "_o"]

    @property
    def state_info(self) -> list[dict[str, Any]]:
        return super().state_info * 2

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Compute one step: (output, [h, c])."""
        name = self._next_step_prefix()
        i2h, h2h = self._conv_forward(inputs, states, name)
        axis = self._conv_layout.find("C")
        i, f, c, o = symbol.SliceChannel(i2h + h2h, num_outputs=4, axis=axis, name=f"{name}slice")
        i = symbol.Activation(i, act_type="sigmoid", name=f"{name}i")
        f = symbol.Activation(f, act_type="sigmoid", name=f"{name}f")
        c = self._get_activation(c, self._activation, name=f"{name}c")
        o = symbol.Activation(o, act_type="sigmoid", name=f"{name}o")
        return lstm_outputs(i, f, c, o, states[1], self._activation, name)


class ConvGRUCell(_ConvCell):
    """A GRU cell with convolutions; gates in the order r, z, o; see `BaseConvRNNCell`.

    {parameters}

    Examples
    --------
    >>> cell = mx.rnn.ConvGRUCell((2, 3, 8, 8), num_hidden=4, i2h_stride=(2, 2))
    >>> cell.state_shape
    [(0, 4, 4, 4)]
    >>> output, states = cell(mx.sym.Variable("data"), cell.begin_state())
    >>> output.infer_shape(data=(2, 3, 8, 8))[1]
    [(2, 4, 4, 4)]
    """

    _DEFAULT_PREFIX = "ConvGRU_"

    @property
    def _gate_names(self):
        return ["_r", "_z", "_o"]

    def __call__(self, inputs: Symbol, states: list[Symbol]) -> tuple[Symbol, list[Symbol]]:
        """Compute one step: (output, [h])."""
        name = self._next_step_prefix()
        i2h, h2h = self._conv_forward(inputs, states, name)
        axis = self._conv_layout.find("C")
        settings = {"num_outputs": 3} if axis == 1 else {"num_outputs": 3, "axis": axis}
        i2h = symbol.SliceChannel(i2h, name=f"{name}_i2h_slice", **settings)
        h2h = symbol.SliceChannel(h2h, name=f"{name}_h2h_slice", **settings)
        activation = functools.partial(self._get_activation, activation=self._activation)
        h = gru_output(i2h, h2h, states[0], activation, name)
        return h, [h]
