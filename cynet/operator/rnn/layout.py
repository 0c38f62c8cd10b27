"""Offsets of an RNN's parts: in its flat vector of parameters and in what forward saves."""

from typing import Any, NamedTuple

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}  # gates of a cell, by mode


class Pass(NamedTuple):  # offsets of one direction of one layer
    """Offsets of one direction of one layer. All but `inputs` are offsets, in elements.

    inputs : int
        Size of a step of what it reads.
    i2h_weight, h2h_weight : int
        (gates * state_size, inputs) and (gates * state_size, out_size) among the parameters.
    i2h_bias, h2h_bias : int
        (gates * state_size,) each among the parameters.
    projection : int
        (out_size, state_size) among the parameters, if there is one.
    gates, h, c, n, full : int
        What forward saves: gates (steps, batch, gates, state_size); states (steps + 1, batch,
        out_size) and, for an LSTM, cells (steps + 1, batch, state_size); for a GRU the recurrent
        product of its third gate (steps, batch, state_size); states before their projection (steps,
        batch, state_size).
    """

    inputs: int
    i2h_weight: int
    h2h_weight: int
    i2h_bias: int
    h2h_bias: int
    projection: int = 0
    gates: int = 0
    h: int = 0
    c: int = 0
    n: int = 0
    full: int = 0


def parameter_layout(prop: Any, input_size: int) -> tuple[list[Any], int]:
    """(passes, size): a `Pass` of each layer and direction, whose parameters lie in MXNet's order,
    and the size of the vector.

    First all weights, layer by layer, each direction's i2h and h2h weight and its projection, then
    all biases in the same order. Gates stand in the order i, f, g, o (lstm) and r, z, n (gru).

    >>> from cynet.operator import get_operator
    >>> prop = get_operator("RNN").prop(mode="gru", state_size=2, num_layers=1)
    >>> parameter_layout(prop, 3)
    ([Pass(inputs=3, i2h_weight=0, h2h_weight=18, i2h_bias=30, h2h_bias=36, projection=30, \
gates=0, h=0, c=0, n=0, full=0)], 42)
    """
    directions, hidden, out = prop.direction_count, prop.state_size, prop.out_size
    rows = GATES[prop.mode] * hidden
    weights, at = [], 0
    for number in range(prop.num_layers * directions):
        inputs = input_size if number < directions else directions * out
        projection = at + rows * (inputs + out)
        weights.append((inputs, at, at + rows * inputs, projection))
        at = projection + (out * hidden if prop.projection_size else 0)
    passes = [
        Pass(inputs, i2h, h2h, at + 2 * number * rows, at + (2 * number + 1) * rows, projection)
        for number, (inputs, i2h, h2h, projection) in enumerate(weights)
    ]
    return passes, at + 2 * len(weights) * rows


def saved_values_layout(prop, data):
    """(passes, inputs, masks, size) for data of that shape: `parameters` with the offsets of the
    values saved by forward; for each layer the offsets of its input and of its dropout factors,
    both (steps, batch, directions * out_size), or -1 if absent; and the total size.
    """
    steps, batch, input_size = data
    cells = batch * prop.state_size
    states = batch * prop.out_size
    sizes = {"gates": GATES[prop.mode] * steps * cells, "h": (steps + 1) * states}
    if prop.mode == "lstm":
        sizes["c"] = (steps + 1) * cells
    if prop.mode == "gru":
        sizes["n"] = steps * cells
    if prop.projection_size:
        sizes["full"] = steps * cells
    passes, at = [], 0
    for one in parameter_layout(prop, input_size)[0]:
        offsets = {}
        for name, size in sizes.items():
            offsets[name] = at
            at += size
        passes.append(one._replace(**offsets))
    inputs, masks = [-1] * prop.num_layers, [-1] * prop.num_layers
    each = steps * states * prop.direction_count
    for layer in range(1, prop.num_layers):
        if prop.direction_count == 2 or prop.p > 0:  # else the layer's input is the output below
            inputs[layer] = at
            at += each
        if prop.p > 0:
            masks[layer] = at
            at += each
    return passes, inputs, masks, at
