"""RNN in terms of other operators, step by step."""

import numpy as np

from ..second_order import Rewrite
from .layout import GATES, parameter_layout, saved_values_layout


def constant_like(F, values, like):
    """Convert a NumPy array to an array on the device and in the dtype of `like`."""
    return F.array(values, ctx=like.ctx, dtype=like.dtype)


def _slice_vector(F, vector, at, shape):
    """Return a slice of a flat vector, in a shape."""
    return F.slice_axis(vector, axis=0, begin=at, end=at + int(np.prod(shape))).reshape(shape)


def split_rows(F, array):
    """Return the slices of an array along its first axis, without that axis."""
    if array.shape[0] == 1:
        return [array.reshape(array.shape[1:])]
    return F.split(array, num_outputs=array.shape[0], axis=0, squeeze_axis=True)


def _clip_cell(p, F, cell):
    """Return the clipped cell, which a step reads; the returned state stays unclipped."""
    if p.lstm_state_clip_min is None:
        return cell
    if p.lstm_state_clip_nan:
        lowest = F.ones_like(cell) * p.lstm_state_clip_min
        cell = F.where(cell == cell, cell, lowest.detach())
    return F.clip(cell, p.lstm_state_clip_min, p.lstm_state_clip_max)


class _LayerDirection:  # one direction of one layer: its weights and step
    """One direction of one layer: its weights, and its step."""

    def __init__(self, p, F, flat, at):
        self.p, self.F = p, F
        self.width = GATES[p.mode] * p.state_size
        self.i2h = _slice_vector(F, flat, at.i2h_weight, (self.width, at.inputs))
        self.h2h = _slice_vector(F, flat, at.h2h_weight, (self.width, p.out_size))
        self.i2h_bias = _slice_vector(F, flat, at.i2h_bias, (self.width,))
        self.h2h_bias = _slice_vector(F, flat, at.h2h_bias, (self.width,))
        self.projection = None
        if p.projection_size:
            self.projection = _slice_vector(F, flat, at.projection, (p.out_size, p.state_size))

    def weighted_inputs(self, data):
        """Return the inputs of all steps times the weights, a list."""
        F = self.F
        products = F.FullyConnected(
            data, self.i2h, self.i2h_bias, num_hidden=self.width, flatten=False
        )
        return split_rows(F, products)

    def step(self, product, h, cell):
        """The next (h, cell)."""
        F, p = self.F, self.p
        recurrent = F.FullyConnected(h, self.h2h, self.h2h_bias, num_hidden=self.width)
        if p.mode == "gru":
            reset, update, new = F.split(product, num_outputs=3, axis=1)
            reset_h, update_h, new_h = F.split(recurrent, num_outputs=3, axis=1)
            new = F.tanh(new + F.sigmoid(reset + reset_h) * new_h)
            return new + F.sigmoid(update + update_h) * (h - new), None
        total = product + recurrent
        if p.mode != "lstm":
            return (F.relu if p.mode == "rnn_relu" else F.tanh)(total), None
        i, f, g, o = F.split(total, num_outputs=4, axis=1)
        cell = F.sigmoid(f) * _clip_cell(p, F, cell) + F.sigmoid(i) * F.tanh(g)
        h = F.sigmoid(o) * F.tanh(_clip_cell(p, F, cell))
        if self.projection is not None:
            h = F.FullyConnected(h, self.projection, num_hidden=p.out_size, no_bias=True)
        return h, cell

    def run_steps(self, data, h, cell, active, backwards):
        """(outputs of all steps, last h, last cell); `active`: (steps, batch) of bool, or None."""
        F = self.F
        products = self.weighted_inputs(data)
        outs = [None] * len(products)
        for t in range(len(products))[:: -1 if backwards else 1]:
            next_h, next_cell = self.step(products[t], h, cell)
            outs[t] = next_h
            if active is not None:
                outs[t] = self._choose_rows(active[t], next_h, F.zeros_like(next_h))
                next_h = self._choose_rows(active[t], next_h, h)
                next_cell = None if cell is None else self._choose_rows(active[t], next_cell, cell)
            h, cell = next_h, next_cell
        return F.stack(*outs, axis=0), h, cell

    def _choose_rows(self, rows, a, b):
        mask = np.broadcast_to(rows[:, None], a.shape)
        return self.F.where(constant_like(self.F, mask, a), a, b)


def _rnn_stepwise(p, F, x, aux, training):
    data, flat = x[:2]
    lstm = p.mode == "lstm"
    states = split_rows(F, x[2])
    cells = split_rows(F, x[3]) if lstm else [None] * len(states)
    active = None
    if p.use_sequence_length:
        active = np.arange(data.shape[0])[:, None] < x[-1].asnumpy().astype(np.int64)
    _, _, masks, _ = saved_values_layout(p, data.shape)
    passes, _ = parameter_layout(p, data.shape[2])
    last, last_cells = [], []
    for layer in range(p.num_layers):
        if layer and p.has_dropout:  # dropout with the factors that forward used
            factors = _slice_vector(F, aux[-1], masks[layer], data.shape).astype(data.dtype)
            data = data * factors.detach()
        outs = []
        for direction in range(p.direction_count):
            k = layer * p.direction_count + direction
            cell = _LayerDirection(p, F, flat, passes[k])
            out, h, c = cell.run_steps(data, states[k], cells[k], active, direction == 1)
            outs.append(out)
            last.append(h)
            last_cells.append(c)
        data = outs[0] if len(outs) == 1 else F.concat(*outs, dim=2)
    made = [data]
    if p.state_outputs:
        made.append(F.stack(*last, axis=0))
        if lstm:
            made.append(F.stack(*last_cells, axis=0))
    return made


STEPWISE = Rewrite(_rnn_stepwise)  # for gradients of gradients
