"""LSTM layers that read an image row by row, or any sequence, and a classifier of the last state.

After Hochreiter and Schmidhuber, "Long short-term memory", 1997, with forget gates. The steps are
written out one after another; all steps of a layer share its parameters.
"""

import cynet as mx

from .layers import image_size


def _step(data, state, params, num_hidden, name):
    """One step of one layer: `state` is (hidden, cell), None before the first step."""
    i2h_weight, i2h_bias, h2h_weight, h2h_bias = params
    gates = mx.sym.FullyConnected(
        data, i2h_weight, i2h_bias, num_hidden=4 * num_hidden, name=f"{name}_i2h"
    )
    if state is None:  # the state before the first step is zero
        gates = mx.sym.broadcast_add(gates, mx.sym.expand_dims(h2h_bias, axis=0))
    else:
        gates = gates + mx.sym.FullyConnected(
            state[0], h2h_weight, h2h_bias, num_hidden=4 * num_hidden, name=f"{name}_h2h"
        )
    gates = mx.sym.SliceChannel(gates, num_outputs=4, name=f"{name}_slice")
    enter, forget, leave = (
        mx.sym.Activation(gates[i], act_type="sigmoid", name=f"{name}_{gate}")
        for i, gate in ((0, "i"), (1, "f"), (3, "o"))
    )
    cell = enter * mx.sym.Activation(gates[2], act_type="tanh", name=f"{name}_c")
    if state is not None:
        cell = forget * state[1] + cell
    return leave * mx.sym.Activation(cell, act_type="tanh", name=f"{name}_out"), cell


def get_symbol(num_classes=10, num_layers=2, num_hidden=128, image_shape=(1, 28, 28), **kwargs):
    """The network as a Symbol.

    Parameters
    ----------
    num_classes, num_layers, num_hidden : int
    image_shape : tuple of int or str
        (channels, height, width): `height` steps of ``channels * width`` numbers.

    Returns
    -------
    Symbol
        Its inputs are ``data`` (N, *image_shape) and ``softmax_label``.
    """
    _, height, _ = image_size(image_shape)
    rows = mx.sym.transpose(mx.sym.var("data"), axes=(2, 0, 1, 3))  # (height, N, channels, width)
    rows = mx.sym.SliceChannel(rows, num_outputs=height, axis=0, squeeze_axis=True, name="rows")
    outputs = [rows[t] for t in range(height)]
    for layer in range(num_layers):
        name = f"lstm_l{layer}"
        params = [
            mx.sym.var(f"{name}_{part}")
            for part in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")
        ]
        state, hidden = None, []
        for t, data in enumerate(outputs):
            state = _step(data, state, params, num_hidden, f"{name}_t{t}")
            hidden.append(state[0])
        outputs = hidden
    net = mx.sym.FullyConnected(outputs[-1], num_hidden=num_classes, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")
