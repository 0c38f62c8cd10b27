"""RNN in float32 beside float64 and a reference in NumPy, at one level of CPU capability (the
environment says which), with one thread and with all.
"""

import numpy as np

from cynet.kernels.isa.dispatch import cpu_capability
from cynet.kernels.threading.threads import set_num_threads
from tests.operator.rnn import reference
from tests.operator.rnn.test_rnn import made
from tests.rounding import assert_summed_alike


def check(params, change=lambda x: None, gradients=True):
    ready, double = (made(params, 5, 45, 21, dtype, seed=3) for dtype in ("float32", "float64"))
    for each in ready, double:
        change(each.inputs[1])
    out = ready.forward()
    want = reference.rnn(*(x.astype("d") for x in ready.inputs), **params)
    wide = 20 if params["state_size"] > 100 else 1  # sums of more numbers, which steps multiply
    np.testing.assert_allclose(out[0], want, 1e-4, wide * 1e-5 * abs(want).max())
    if gradients:
        head = np.random.RandomState(4).standard_normal(out[0].shape)
        wanted = double.backward([head], double.forward())
        for g, w in zip(ready.backward([head.astype("f")], out), wanted):
            np.testing.assert_allclose(g, w, 2e-3, wide * 2e-4 * abs(w).max())
    return ready, out, want


def small(x):  # a block of weights, behind those of the inputs
    x[-8000:-5000] *= 1e-37


def infinite(x):
    x[-7000], x[-5000] = np.inf, -np.inf


for mode, size in [(mode, size) for mode in reference.GATES for size in (37, 101)]:
    params = {"mode": mode, "state_size": size, "num_layers": 2, "bidirectional": mode != "lstm"}
    if size == 101:
        check(params, small)
        if mode in ("lstm", "gru"):
            check(params, infinite, False)
    ready, out, want = check(params)
    set_num_threads(1)
    alone = ready.forward()[0]
    set_num_threads(0)
    if cpu_capability() == "baseline":  # a library's products, which may sum in another order
        terms = 5 * params["num_layers"] * (size + 21)  # of all steps
        assert_summed_alike(alone, out[0], terms, abs(want).max())
    else:
        np.testing.assert_array_equal(alone, out[0])
print("done")
