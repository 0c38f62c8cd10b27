"""Log likelihood of marked Hawkes processes: events of K kinds that excite more of their own kind.

The rate of kind k at time t is ``lda[n, k] + alpha[k] * beta[k] * s``, where the state ``s`` grows
by 1 with an event of the kind and decays as ``exp(-beta[k] * t)``. Laub, Taimre and Pollett,
https://arxiv.org/abs/1507.02822.
"""

from ...base.errors import ArgumentError
from .._base import register_operator
from ..kernel_property import Kernel, KernelProperty
from ..property import merge_shapes


class HawkesProperty(KernelProperty):
    """Log likelihood of marked Hawkes processes with exponential decay, and states at the end.

    For N samples of at most T events of K kinds: `lda` (N, K) background rates, `alpha` (K,) and
    `beta` (K,) strength and decay of the excitement, `state` (N, K) at time 0, `lags` (N, T) times
    between events, `marks` (N, T) their kinds as int32, `valid_length` (N,) how many events there
    are, `max_time` (N,) the end. Gives the log likelihoods (N,) and the states (N, K) at
    `max_time`.
    lda, alpha, beta and state get gradients.
    """

    inputs_doc = {
        "lda": "Background rates (N, K).", "alpha": "Strength of the excitement (K,).",
        "beta": "Its decay (K,).", "state": "States at time 0 (N, K).",
        "lags": "Times between events (N, T).", "marks": "Kinds of the events (N, T), int32.",
        "valid_length": "How many events there are (N,).", "max_time": "Ends of time (N,).",
    }

    forward = Kernel("hawkesll", tuple(inputs_doc), ("output0", "output1"))
    backward = Kernel(
        "hawkesll_grad",
        ("d_output0", "d_output1", *inputs_doc),
        ("d_lda", "d_alpha", "d_beta", "d_state"),
    )
    zeros = ("d_lags", "d_marks", "d_valid_length", "d_max_time")
    floats = ("lda", "alpha", "beta", "state", "lags", "valid_length", "max_time")

    def list_arguments(self):
        return list(self.inputs_doc)

    def list_outputs(self):
        return ["output0", "output1"]

    def infer_shape(self, in_shapes, out_shapes):
        def length(*places):
            found = None
            for shape, axis, ndim in places:
                if shape is not None:
                    padded = [0] * ndim
                    if len(shape) == ndim:
                        padded = shape
                    found = merge_shapes(found, (padded[axis],))
            return found[0] if found else 0

        lda, alpha, beta, state, lags, marks, valid, end = in_shapes
        ll, last = out_shapes
        n = length((lda, 0, 2), (state, 0, 2), (lags, 0, 2), (marks, 0, 2), (valid, 0, 1),
                   (end, 0, 1), (ll, 0, 1), (last, 0, 2))
        k = length((lda, 1, 2), (alpha, 0, 1), (beta, 0, 1), (state, 1, 2), (last, 1, 2))
        t = length((lags, 1, 2), (marks, 1, 2))
        wanted = [(n, k), (k,), (k,), (n, k), (n, t), (n, t), (n,), (n,)]
        ins = [merge_shapes(*pair) for pair in zip(in_shapes, wanted)]
        return ins, [merge_shapes(ll, (n,)), merge_shapes(last, (n, k))], []

    def infer_type(self, in_types, out_types):
        floats = [*in_types[:5], *in_types[6:]]
        ins, outs, _ = super().infer_type(floats, out_types)
        if in_types[5] not in (None, "int32"):
            raise ArgumentError(f"'marks' is {in_types[5]}, expected int32")
        return [*ins[:5], "int32", *ins[5:]], outs, []

    def work(self, in_shapes):
        lda, lags = in_shapes[0], in_shapes[4]
        return lda[0] * (lags[1] + lda[1])

    def failure(self, place, values):
        steps, marks = map(int, values)
        return ArgumentError(
            f"operator _contrib_hawkesll: sample {place} has a valid_length beyond 0 to {steps} or "
            f"marks beyond 0 to {marks - 1}"
        )


register_operator("_contrib_hawkesll", HawkesProperty)
