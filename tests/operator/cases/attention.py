"""Cases of interleaved attention, amp_multicast and hawkesll."""

import numpy as np

from .case import Case, Input, ints

FLOATS = ("float32", "float64", "float16")
ALL = {"tolerance": {"float32": (2e-5, 2e-5), "float64": (1e-10, 1e-11), "float16": (4e-3, 1e-2)}}


def split(x, heads, parts):
    """(batch * heads, length, dim) of each part."""
    n, batch, width = x.shape
    each = x.reshape(n, batch * heads, parts, width // (heads * parts))
    return [each[:, :, i].transpose(1, 0, 2) for i in range(parts)]


def qk(*x, heads):
    if len(x) == 1:
        queries, keys, _ = split(x[0], heads, 3)
    else:
        queries, keys = split(x[0], heads, 1)[0], split(x[1], heads, 2)[0]
    return queries @ keys.transpose(0, 2, 1) / np.sqrt(queries.shape[2]).astype(queries.dtype)


def valatt(parts):
    def reference(x, attention, heads):
        out = (attention @ split(x, heads, parts)[-1]).transpose(1, 0, 2)
        return out.reshape(out.shape[0], x.shape[1], -1)

    return reference


def multicast(*x, num_outputs, cast_narrow=False):
    kinds = [d for d in ("float16", "float32") if any(a.dtype == d for a in x)]
    wanted = kinds[0 if cast_narrow else -1] if kinds else None
    return tuple(a.astype(wanted) if str(a.dtype) in ("float16", "float32") else a for a in x)


def hawkes(lda, alpha, beta, state, lags, marks, valid_length, max_time):
    ll, last = np.zeros(len(lda)), np.zeros(lda.shape)
    for n in range(len(lda)):
        times = np.cumsum(lags[n])[: int(valid_length[n])]
        for k in range(lda.shape[1]):
            own = times[marks[n][: len(times)] == k]

            def excited(t, own=own, n=n, k=k):
                before = own[own < t]
                return state[n, k] * np.exp(-beta[k] * t) + np.exp(-beta[k] * (t - before)).sum()

            end = max_time[n]
            ll[n] += sum(np.log(lda[n, k] + alpha[k] * beta[k] * excited(t)) for t in own)
            left = 1 - np.exp(-beta[k] * (end - own))
            start = state[n, k] * (1 - np.exp(-beta[k] * end))
            ll[n] -= lda[n, k] * end + alpha[k] * (left.sum() + start)
            last[n, k] = excited(end)
    return ll.astype(lda.dtype), last.astype(lda.dtype)


CALL = "_contrib_interleaved_matmul_"
ATTENTION = [
    Case(f"{CALL}selfatt_qk", [(5, 2, 24)], qk, {"heads": 2}, dtypes=FLOATS, **ALL),
    Case(f"{CALL}selfatt_qk", [(1, 1, 3)], qk, {"heads": 1}, **ALL),
    Case(
        f"{CALL}selfatt_valatt",
        [(5, 2, 24), (4, 5, 5)],
        valatt(3),
        {"heads": 2},
        dtypes=FLOATS,
        infers=(1,),
        **ALL,
    ),
    Case(f"{CALL}selfatt_valatt", [(3, 1, 9), (3, 3, 3)], valatt(3), {"heads": 3}, **ALL),
    Case(f"{CALL}encdec_qk", [(3, 2, 8), (5, 2, 16)], qk, {"heads": 2}, dtypes=FLOATS, **ALL),
    Case(f"{CALL}encdec_qk", [(1, 3, 4), (2, 3, 8)], qk, {"heads": 1}, **ALL),
    Case(
        f"{CALL}encdec_valatt",
        [(5, 2, 16), (4, 3, 5)],
        valatt(2),
        {"heads": 2},
        dtypes=FLOATS,
        **ALL,
    ),
    Case(f"{CALL}encdec_valatt", [(2, 3, 8), (6, 1, 2)], valatt(2), {"heads": 2}, **ALL),
]
HALF, FULL = Input((4,), dtype="float16"), Input((2, 3), dtype="float32")
WHOLE = Input((2,), ints(0, 5), "int32")
OTHERS = [
    Case(
        "amp_multicast",
        [FULL, HALF, WHOLE],
        multicast,
        {"num_outputs": 3},
        grad=False,
        reference_grad=lambda g, *x, **p: [
            d.astype(a.dtype) if a.dtype.kind == "f" else None for d, a in zip(g, x)
        ],
        dtypes=("float32",),
        exact=True,
    ),
    Case(
        "amp_multicast",
        [FULL, HALF],
        multicast,
        {"num_outputs": 2, "cast_narrow": True},
        grad=False,
        dtypes=("float32",),
        exact=True,
        reference_grad=lambda g, *x, **p: [d.astype(a.dtype) for d, a in zip(g, x)],
    ),
    Case(
        "_contrib_hawkesll",
        [
            Input((2, 3), (0.5, 2)),
            Input((3,), (0.2, 0.6)),
            Input((3,), (0.5, 2)),
            Input((2, 3), (0.1, 1)),
            Input((2, 4), (0.2, 0.6)),
            Input((2, 4), ints(0, 3), "int32"),
            Input((2,), np.array([3, 4])),
            Input((2,), (3, 4)),
        ],
        hawkes,
        grad=(0, 1, 2, 3),
    ),
]
CASES = [*ATTENTION, *OTHERS]
