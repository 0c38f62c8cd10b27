"""CTCLoss in terms of other operators, step by step."""

import numpy as np

from ..rnn.stepwise import constant_like, split_rows
from ..second_order import Rewrite

_LOG_ZERO = -1e30  # the logarithm of no probability: finite, so that differences are numbers


class _CtcLabels:  # a batch's label sequences, blanks between
    """The label sequences of a batch, with the blanks between labels.

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
        limit = label.shape[1]
        inside = np.arange(limit) < self.lengths[:, None]
        self.classes = np.full((batch, 2 * limit + 1), blank)
        self.classes[:, 1::2] = np.where(inside, label, blank)
        # a label may follow another label without a blank in between if they differ
        self.skips = np.zeros(self.classes.shape, bool)
        self.skips[:, 3::2] = label[:, 1:] != label[:, :-1]
        pairs = (label[:, 1:] == label[:, :-1]) & inside[:, 1:]
        self.fits = self.lengths + pairs.sum(1) <= self.times


def _log_sum_exp(F, *parts):
    """log(sum(exp)) of arrays, element by element."""
    stacked = F.stack(*parts, axis=0)
    limit = F.max(stacked, axis=0, keepdims=True).detach()
    total = F.log(F.sum(F.exp(F.broadcast_sub(stacked, limit)), axis=0))
    return total + limit.reshape(total.shape)


def _ctc_loss_stepwise(p, F, x, aux, training):
    data, labels = x[0], _CtcLabels(p, x)
    steps, batch, classes = data.shape
    n = labels.classes.shape[1]
    logs = F.log_softmax(data, axis=2).reshape((-1,))
    offsets = (np.arange(steps)[:, None, None] * batch + np.arange(batch)[:, None]) * classes
    index = F.array((offsets + labels.classes).reshape(-1), ctx=data.ctx, dtype="int64")
    chances = split_rows(F, F.take(logs, index, axis=0).reshape((steps, batch, n)))
    never = constant_like(F, np.full((batch, 2), _LOG_ZERO), data)
    bars = constant_like(F, np.where(labels.skips, 0, _LOG_ZERO), data)
    begin = np.full((batch, n), _LOG_ZERO)
    begin[:, :2] = 0
    state = chances[0] + constant_like(F, begin, data)
    for t in range(1, steps):
        padded = F.concat(never, state, dim=1)
        one, two = (F.slice_axis(padded, axis=1, begin=k, end=k + n) for k in (1, 0))
        following = chances[t] + _log_sum_exp(F, state, one, two + bars)
        going = np.broadcast_to((t < labels.times)[:, None], (batch, n))
        state = F.where(constant_like(F, going, data), following, state)
    rows = np.arange(batch)
    ends = np.full((batch, n), _LOG_ZERO)
    ends[rows, 2 * labels.lengths] = 0
    ends[rows, np.maximum(2 * labels.lengths - 1, 0)] = 0
    state = state + constant_like(F, ends, data)
    loss = -_log_sum_exp(F, *split_rows(F, F.transpose(state)))
    there = constant_like(F, labels.fits & (labels.times > 0), data)
    return [F.where(there, loss, F.zeros_like(loss))]


STEPWISE = Rewrite(_ctc_loss_stepwise)  # for gradients of gradients
