"""Log likelihood of marked Hawkes processes: events of K kinds that excite more of their own kind.

The rate of kind k at time t is ``lda[n, k] + alpha[k] * beta[k] * s``, where the state ``s`` grows
by 1 with an event of the kind and decays as ``exp(-beta[k] * t)``. Laub, Taimre and Pollett,
https://arxiv.org/abs/1507.02822.
"""

import numpy as np

from ...base.errors import ArgumentError
from ..kernel_property import Kernel, KernelProperty
from ..precision import FLOAT32, Precision
from ..property import merge_shapes
from ..second_order import Rewrite


def _differentiable_hawkes(p, F, x, aux, training):
    from ..rnn.stepwise import constant_like  # imported late: few programs use second gradients

    lda, alpha, beta, state = x[:4]
    lags, marks, lengths, ends = (each.asnumpy() for each in x[4:])
    n, steps = lags.shape
    times, ends = np.cumsum(lags.astype(np.float64), axis=1), ends[:, None]
    there = np.arange(steps) < lengths[:, None]
    marks = np.where(there, marks, 0)
    kinds = constant_like(F, (marks[:, :, None] == np.arange(beta.size)) & there[:, :, None], lda)
    index = F.array(marks.reshape(-1), ctx=lda.ctx, dtype="int64")
    strength, decay = (F.take(each, index, axis=0).reshape((n, steps)) for each in (alpha, beta))
    rate, start = (
        F.sum(F.broadcast_mul(kinds, each.expand_dims(1)), axis=2) for each in (lda, state)
    )
    valid = constant_like(F, there, lda)
    before = (marks[:, :, None] == marks[:, None]) & there[:, :, None] & there[:, None]
    before = before & (np.arange(steps)[:, None] > np.arange(steps))
    apart = constant_like(F, np.where(before, times[:, :, None] - times[:, None], 0), lda)
    echoes = F.exp(-F.broadcast_mul(decay.expand_dims(2), apart)) * constant_like(F, before, lda)
    excited = start * F.exp(-decay * constant_like(F, times, lda)) + F.sum(echoes, axis=2)
    # a step without an event has the rate 1
    rates = (rate + strength * decay * excited) * valid + (1 - valid)
    left = F.exp(-decay * constant_like(F, np.where(there, ends - times, 0), lda)) * valid
    gone = F.exp(F.broadcast_mul(-beta.reshape((1, -1)), constant_like(F, ends, lda)))
    quiet = lda * constant_like(F, np.broadcast_to(ends, lda.shape), lda)
    quiet = quiet + F.broadcast_mul(state * (1 - gone), alpha.reshape((1, -1)))
    likelihood = F.sum(F.log(rates) - strength * (valid - left), axis=1) - F.sum(quiet, axis=1)
    last = state * gone + F.sum(F.broadcast_mul(kinds, left.expand_dims(2)), axis=1)
    return [likelihood, last]


class HawkesProperty(KernelProperty, operator="_contrib_hawkesll"):
    """Log likelihood of marked Hawkes processes with exponential decay, and states at the end.

    For N samples of at most T events of K kinds: `lda` (N, K) background rates, `alpha` (K,) and
    `beta` (K,) strength and decay of the excitement, `state` (N, K) at time 0, `lags` (N, T) times
    between events, `marks` (N, T) their kinds as int32, `valid_length` (N,) how many events there
    are, `max_time` (N,) the end. Gives the log likelihoods (N,) and the states (N, K) at
    `max_time`.
    lda, alpha, beta and state get gradients.
    """

    inputs_doc = {
        "lda": "Background rates (N, K).",
        "alpha": "Strength of the excitement (K,).",
        "beta": "Its decay (K,).",
        "state": "States at time 0 (N, K).",
        "lags": "Times between events (N, T).",
        "marks": "Kinds of the events (N, T), int32.",
        "valid_length": "How many events there are (N,).",
        "max_time": "Ends of time (N,).",
    }

    forward = Kernel("hawkesll", tuple(inputs_doc), ("output0", "output1"))
    backward = Kernel(
        "hawkesll_grad",
        ("d_output0", "d_output1", *inputs_doc),
        ("d_lda", "d_alpha", "d_beta", "d_state"),
    )
    zeros = ("d_lags", "d_marks", "d_valid_length", "d_max_time")
    floats = ("lda", "alpha", "beta", "state", "lags", "valid_length", "max_time")
    second_order = Rewrite(_differentiable_hawkes)
    amp = Precision(FLOAT32)
    output_names = ("output0", "output1")
    example = """
    >>> rate = mx.nd.array([[1.5, 2.0]])
    >>> alpha, beta = mx.nd.array([0.2, 0.3]), mx.nd.array([1.0, 2.0])
    >>> lags = mx.nd.array([[0.5, 0.6, 0.7]])
    >>> marks = mx.nd.array([[0, 1, 0]], dtype="int32")
    >>> likelihood, state = mx.nd.contrib.hawkesll(
    ...     rate, alpha, beta, mx.nd.zeros((1, 2)), lags, marks, mx.nd.array([3]), mx.nd.array([5]))
    >>> likelihood
    [-16.649733]
    <NDArray 1 @cpu(0)>
    """

    def list_arguments(self):
        return list(self.inputs_doc)

    def infer_shape(self, in_shapes, out_shapes):
        def common_length(*dimensions):
            found = None
            for shape, axis, ndim in dimensions:
                if shape is not None:
                    padded = [0] * ndim
                    if len(shape) == ndim:
                        padded = shape
                    found = merge_shapes(found, (padded[axis],))
            return found[0] if found else 0

        lda, alpha, beta, state, lags, marks, valid, end = in_shapes
        ll, last = out_shapes
        n = common_length(
            (lda, 0, 2),
            (state, 0, 2),
            (lags, 0, 2),
            (marks, 0, 2),
            (valid, 0, 1),
            (end, 0, 1),
            (ll, 0, 1),
            (last, 0, 2),
        )
        k = common_length((lda, 1, 2), (alpha, 0, 1), (beta, 0, 1), (state, 1, 2), (last, 1, 2))
        t = common_length((lags, 1, 2), (marks, 1, 2))
        wanted = [(n, k), (k,), (k,), (n, k), (n, t), (n, t), (n,), (n,)]
        ins = [merge_shapes(*pair) for pair in zip(in_shapes, wanted)]
        return ins, [merge_shapes(ll, (n,)), merge_shapes(last, (n, k))], []

    def infer_type(self, in_types, out_types):
        floats = [*in_types[:5], *in_types[6:]]
        ins, outs, _ = super().infer_type(floats, out_types)
        if in_types[5] not in (None, "int32"):
            raise ArgumentError(f"'marks' is {in_types[5]}, expected int32")
        return [*ins[:5], "int32", *ins[5:]], outs, []

    def cost_elements(self, in_shapes):
        lda, lags = in_shapes[0], in_shapes[4]
        return lda[0] * (lags[1] + lda[1])

    def kernel_error(self, item, values):
        steps, marks = map(int, values)
        return ArgumentError(
            f"operator _contrib_hawkesll: sample {item} has a valid_length beyond 0 to {steps} or "
            f"marks beyond 0 to {marks - 1}"
        )
