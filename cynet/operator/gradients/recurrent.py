"""Operators that run over the steps of sequences, in terms of others, step by step.

A function gets (p, F, x, aux, training) as those of ``rewritten.py`` do.
"""

import numpy as np

from ..rnn.layout import GATES, kept, parameters

_NOTHING = -1e30  # the logarithm of no probability: finite, so that differences are numbers


def _constant(F, values, like):
    return F.array(values, ctx=like.ctx, dtype=like.dtype)


def _cut(F, vector, at, shape):
    """A part of a flat vector."""
    return F.slice_axis(vector, axis=0, begin=at, end=at + int(np.prod(shape))).reshape(shape)


def _rows(F, array):
    """The parts of an array along its first axis, without it."""
    if array.shape[0] == 1:
        return [array.reshape(array.shape[1:])]
    return F.split(array, num_outputs=array.shape[0], axis=0, squeeze_axis=True)


def _clipped(p, F, cell):
    """A cell as it is used; it goes on as it is."""
    if p.lstm_state_clip_min is None:
        return cell
    if p.lstm_state_clip_nan:
        lowest = F.ones_like(cell) * p.lstm_state_clip_min
        cell = F.where(cell == cell, cell, lowest.detach())
    return F.clip(cell, p.lstm_state_clip_min, p.lstm_state_clip_max)


class _Direction:
    """One direction of one layer: its weights, and its step."""

    def __init__(self, p, F, flat, at):
        self.p, self.F = p, F
        self.width = GATES[p.mode] * p.state_size
        self.i2h = _cut(F, flat, at.i2h_weight, (self.width, at.inputs))
        self.h2h = _cut(F, flat, at.h2h_weight, (self.width, p.out_size))
        self.i2h_bias = _cut(F, flat, at.i2h_bias, (self.width,))
        self.h2h_bias = _cut(F, flat, at.h2h_bias, (self.width,))
        self.projection = None
        if p.projection_size:
            self.projection = _cut(F, flat, at.projection, (p.out_size, p.state_size))

    def inputs(self, data):
        """The weighted inputs of all steps, a list."""
        F = self.F
        products = F.FullyConnected(
            data, self.i2h, self.i2h_bias, num_hidden=self.width, flatten=False
        )
        return _rows(F, products)

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
        cell = F.sigmoid(f) * _clipped(p, F, cell) + F.sigmoid(i) * F.tanh(g)
        h = F.sigmoid(o) * F.tanh(_clipped(p, F, cell))
        if self.projection is not None:
            h = F.FullyConnected(h, self.projection, num_hidden=p.out_size, no_bias=True)
        return h, cell

    def run(self, data, h, cell, active, backwards):
        """(outputs of all steps, last h, last cell); `active`: (steps, batch) of bool, or None."""
        F = self.F
        products = self.inputs(data)
        outs = [None] * len(products)
        for t in range(len(products))[:: -1 if backwards else 1]:
            next_h, next_cell = self.step(products[t], h, cell)
            outs[t] = next_h
            if active is not None:
                outs[t] = self._where(active[t], next_h, F.zeros_like(next_h))
                next_h = self._where(active[t], next_h, h)
                next_cell = None if cell is None else self._where(active[t], next_cell, cell)
            h, cell = next_h, next_cell
        return F.stack(*outs, axis=0), h, cell

    def _where(self, rows, a, b):
        mask = np.broadcast_to(rows[:, None], a.shape)
        return self.F.where(_constant(self.F, mask, a), a, b)


def _rnn(p, F, x, aux, training):
    data, flat = x[:2]
    lstm = p.mode == "lstm"
    states = _rows(F, x[2])
    cells = _rows(F, x[3]) if lstm else [None] * len(states)
    active = None
    if p.use_sequence_length:
        active = np.arange(data.shape[0])[:, None] < x[-1].asnumpy().astype(np.int64)
    _, _, masks, _ = kept(p, data.shape)
    passes, _ = parameters(p, data.shape[2])
    last, last_cells = [], []
    for layer in range(p.num_layers):
        if layer and p.drops:  # by the factors that forward drew
            factors = _cut(F, aux[-1], masks[layer], data.shape).astype(data.dtype)
            data = data * factors.detach()
        outs = []
        for direction in range(p.directions):
            k = layer * p.directions + direction
            cell = _Direction(p, F, flat, passes[k])
            out, h, c = cell.run(data, states[k], cells[k], active, direction == 1)
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


class _Labels:
    """What CTC reads of labels, all samples beside one another.

    States are a blank, label 0, a blank, label 1, ... and a last blank, 2 L + 1 of them.
    """

    def __init__(self, p, x):
        steps, batch, classes = x[0].shape
        rest = [each.asnumpy().astype(np.int64) for each in x[1:]]
        label = rest.pop(0)
        blank, padding = (0, 0) if p.blank_label == "first" else (classes - 1, -1)
        self.times = rest.pop(0) if p.use_data_lengths else np.full(batch, steps)
        if p.use_label_lengths:
            self.lengths = rest.pop(0)
        else:
            ended = np.cumsum(label == padding, axis=1) > 0
            self.lengths = (~ended).sum(1)
        most = label.shape[1]
        inside = np.arange(most) < self.lengths[:, None]
        self.classes = np.full((batch, 2 * most + 1), blank)
        self.classes[:, 1::2] = np.where(inside, label, blank)
        # a label may follow the one before it without a blank if it is another one
        self.skips = np.zeros(self.classes.shape, bool)
        self.skips[:, 3::2] = label[:, 1:] != label[:, :-1]
        pairs = (label[:, 1:] == label[:, :-1]) & inside[:, 1:]
        self.fits = self.lengths + pairs.sum(1) <= self.times


def _log_sum(F, *parts):
    """log(sum(exp)) of arrays, element by element."""
    stacked = F.stack(*parts, axis=0)
    most = F.max(stacked, axis=0, keepdims=True).detach()
    total = F.log(F.sum(F.exp(F.broadcast_sub(stacked, most)), axis=0))
    return total + most.reshape(total.shape)


def _ctc_loss(p, F, x, aux, training):
    data, labels = x[0], _Labels(p, x)
    steps, batch, classes = data.shape
    n = labels.classes.shape[1]
    logs = F.log_softmax(data, axis=2).reshape((-1,))
    places = (np.arange(steps)[:, None, None] * batch + np.arange(batch)[:, None]) * classes
    index = F.array((places + labels.classes).reshape(-1), ctx=data.ctx, dtype="int64")
    chances = _rows(F, F.take(logs, index, axis=0).reshape((steps, batch, n)))
    never = _constant(F, np.full((batch, 2), _NOTHING), data)
    bars = _constant(F, np.where(labels.skips, 0, _NOTHING), data)
    begin = np.full((batch, n), _NOTHING)
    begin[:, :2] = 0
    state = chances[0] + _constant(F, begin, data)
    for t in range(1, steps):
        padded = F.concat(never, state, dim=1)
        one, two = (F.slice_axis(padded, axis=1, begin=k, end=k + n) for k in (1, 0))
        following = chances[t] + _log_sum(F, state, one, two + bars)
        going = np.broadcast_to((t < labels.times)[:, None], (batch, n))
        state = F.where(_constant(F, going, data), following, state)
    rows = np.arange(batch)
    ends = np.full((batch, n), _NOTHING)
    ends[rows, 2 * labels.lengths] = 0
    ends[rows, np.maximum(2 * labels.lengths - 1, 0)] = 0
    state = state + _constant(F, ends, data)
    loss = -_log_sum(F, *_rows(F, F.transpose(state)))
    there = _constant(F, labels.fits & (labels.times > 0), data)
    return [F.where(there, loss, F.zeros_like(loss))]


def _hawkes(p, F, x, aux, training):
    lda, alpha, beta, state = x[:4]
    lags, marks, lengths, ends = (each.asnumpy() for each in x[4:])
    n, steps = lags.shape
    times, ends = np.cumsum(lags.astype(np.float64), axis=1), ends[:, None]
    there = np.arange(steps) < lengths[:, None]
    marks = np.where(there, marks, 0)
    kinds = _constant(F, (marks[:, :, None] == np.arange(beta.size)) & there[:, :, None], lda)
    index = F.array(marks.reshape(-1), ctx=lda.ctx, dtype="int64")
    strength, decay = (F.take(each, index, axis=0).reshape((n, steps)) for each in (alpha, beta))
    rate, start = (
        F.sum(F.broadcast_mul(kinds, each.expand_dims(1)), axis=2) for each in (lda, state)
    )
    valid = _constant(F, there, lda)
    before = (marks[:, :, None] == marks[:, None]) & there[:, :, None] & there[:, None]
    before = before & (np.arange(steps)[:, None] > np.arange(steps))
    apart = _constant(F, np.where(before, times[:, :, None] - times[:, None], 0), lda)
    echoes = F.exp(-F.broadcast_mul(decay.expand_dims(2), apart)) * _constant(F, before, lda)
    excited = start * F.exp(-decay * _constant(F, times, lda)) + F.sum(echoes, axis=2)
    # a step without an event has the rate 1
    rates = (rate + strength * decay * excited) * valid + (1 - valid)
    left = F.exp(-decay * _constant(F, np.where(there, ends - times, 0), lda)) * valid
    gone = F.exp(F.broadcast_mul(-beta.reshape((1, -1)), _constant(F, ends, lda)))
    quiet = lda * _constant(F, np.broadcast_to(ends, lda.shape), lda)
    quiet = quiet + F.broadcast_mul(state * (1 - gone), alpha.reshape((1, -1)))
    likelihood = F.sum(F.log(rates) - strength * (valid - left), axis=1) - F.sum(quiet, axis=1)
    last = state * gone + F.sum(F.broadcast_mul(kinds, left.expand_dims(2)), axis=1)
    return [likelihood, last]


RECURRENT = {"RNN": _rnn, "CTCLoss": _ctc_loss, "_contrib_hawkesll": _hawkes}
