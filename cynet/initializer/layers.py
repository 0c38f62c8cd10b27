"""Initializers for one kind of layer: upsampling, LSTM."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .. import ndarray as nd
from ..base.errors import ArgumentError

if TYPE_CHECKING:
    from ..typing import InitializerLike

from .base import InitDesc, Initializer, create, register

__all__ = ["Bilinear", "FusedRNN", "LSTMBias"]


@register
class Bilinear(Initializer):
    """Sets the weights of a Deconvolution to bilinear upsampling.

    Examples
    --------
    >>> w = mx.nd.zeros((1, 1, 4, 4))
    >>> mx.init.Bilinear()("up_weight", w)
    >>> w[0, 0, 1]
    [0.1875 0.5625 0.5625 0.1875]
    <NDArray 4 @cpu(0)>
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _, arr):
        height, width = arr.shape[-2:]
        kernel = np.outer(_bilinear_weights(height, width), _bilinear_weights(width, width))
        arr[:] = np.broadcast_to(kernel, arr.shape)


def _bilinear_weights(extent, width):
    # as in MXNet, the width determines the slope of both axes
    half = math.ceil(width / 2)
    centre = (2 * half - 1 - half % 2) / (2 * half)
    return 1 - np.abs(np.arange(extent) / half - centre)


@register
class LSTMBias(Initializer):
    """Sets an LSTM cell's biases: 0, and `forget_bias` for the forget gate (second quarter).

    Parameters
    ----------
    forget_bias : float
        Initial value of the forget gate's biases; 1 makes a new network forget little.

    Examples
    --------
    >>> cell = mx.gluon.rnn.LSTMCell(2, input_size=3, i2h_bias_initializer=mx.init.LSTMBias(1.0))
    >>> cell.initialize()
    >>> cell.i2h_bias.data().asnumpy()
    array([0., 0., 1., 1., 0., 0., 0., 0.], dtype=float32)
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name, arr):
        hidden = arr.shape[0] // 4
        values = np.zeros(arr.shape, np.float32)
        values[hidden : 2 * hidden] = self.forget_bias
        arr[:] = values


@register
class FusedRNN(Initializer):
    """Fills the packed parameters of the operator RNN: each part by another initializer.

    Parameters
    ----------
    init : Initializer, str or None
        Initializes the parts; None takes the initializer of the whole model, a str is what
        ``dumps`` returned.
    num_hidden, num_layers : int
        Settings of the cell.
    mode : str
        Kind of the cell: ``'rnn_relu'``, ``'rnn_tanh'``, ``'lstm'`` or ``'gru'``.
    bidirectional : bool
        Whether the cell runs in both directions.
    forget_bias : float
        Initial value of the biases of an LSTM's forget gates.

    Examples
    --------
    >>> init = mx.init.FusedRNN("ones", num_hidden=2, num_layers=1, mode="lstm", forget_bias=5)
    >>> cell = mx.rnn.FusedRNNCell(2, mode="lstm", prefix="lstm_")
    >>> array = mx.nd.zeros(8 * 3 + 8 * 2 + 8 + 8)  # inputs of 3
    >>> init("lstm_weight", array)
    >>> parts = cell.unpack_weights({"lstm_parameters": array})
    >>> parts["lstm_l0_i2h_i_weight"].asnumpy(), parts["lstm_l0_i2h_f_bias"].asnumpy()
    (array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32), array([5., 5.], dtype=float32))
    """

    def __init__(
        self,
        init: InitializerLike | None,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
        if init is not None:
            init = create(init)
        super().__init__(
            init=init.dumps() if init is not None else None,
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init, self._mode, self._forget_bias = init, mode, forget_bias
        self._num_hidden, self._num_layers = num_hidden, num_layers
        self._directions = ["l", "r"] if bidirectional else ["l"]

    def _init_weight(self, name, arr):
        from ..rnn import packed  # imported here: mx.rnn is loaded at its first use

        layout = self._mode, self._num_layers, self._directions
        num_input = packed.infer_input_size(arr.size, *layout, self._num_hidden)
        fits = arr.size == packed.parameter_count(*layout, num_input, self._num_hidden)
        if num_input < 1 or not fits:
            raise ArgumentError(
                f"FusedRNN: '{name}' has the shape {arr.shape}, which is not that of the one array "
                f"of parameters of {self._mode} cells with num_hidden={self._num_hidden}, "
                f"num_layers={self._num_layers}, bidirectional={len(self._directions) == 2}"
            )
        whole = nd.zeros((arr.size,))
        for part_name, part in packed.split_parameters(
            whole, *layout, num_input, self._num_hidden
        ).items():
            if self._mode == "lstm" and part_name.endswith("_f_bias"):
                part[:] = self._forget_bias
            elif self._init is None:
                overall = getattr(name, "global_init", None)
                if overall is None or overall is self:
                    raise ArgumentError(
                        f"FusedRNN: '{name}' has no initializer of the whole model; give init"
                    )
                overall(InitDesc(part_name, global_init=overall), part)
            else:
                self._init(InitDesc(part_name), part)
        arr[:] = whole.reshape(arr.shape)
