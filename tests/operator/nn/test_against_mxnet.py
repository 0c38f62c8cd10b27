"""Outputs, gradients and states of every case that tests/fixtures/nn.py computed in MXNet."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.operator.direct import Ready

FIXTURES = np.load(Path(__file__).parents[2] / "fixtures" / "nn.npz")
CASES = json.loads(str(FIXTURES["cases"]))


def arrays(number, name, dtype=None):
    """The case's arrays of that name, in order; float ones as `dtype`."""
    found = []
    while f"{number}/{name}{len(found)}" in FIXTURES:
        x = FIXTURES[f"{number}/{name}{len(found)}"]
        found.append(x.astype(dtype) if dtype and x.dtype.kind == "f" else x)
    return found


def label(number):
    case = CASES[number]
    params = ",".join(f"{k}={v}" for k, v in case["params"].items())
    return f"{number}-{case['op']}({params}){'' if case['train'] else '-predict'}"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("number", range(len(CASES)), ids=label)
def test_case(number, dtype):
    case = CASES[number]
    ready = Ready(
        case["op"], arrays(number, "in", dtype), case["params"], arrays(number, "aux", dtype)
    )
    out = ready.forward(train=case["train"])
    wanted = arrays(number, "out")
    assert ready.prop.num_visible_outputs() == len(wanted)
    for y, mx in zip(out, wanted):
        assert y.shape == mx.shape
        assert y.dtype == dtype
        np.testing.assert_allclose(y, mx, rtol=2e-4, atol=2e-5)
    grads = ready.backward(arrays(number, "grad_out", dtype), out, train=case["train"])
    for i, g in enumerate(grads):
        if f"{number}/grad_in{i}" in FIXTURES:
            np.testing.assert_allclose(g, FIXTURES[f"{number}/grad_in{i}"], rtol=5e-4, atol=5e-5)
        else:
            assert (g == 0).all()
    for state, mx in zip(ready.aux, arrays(number, "aux_after")):
        np.testing.assert_allclose(state, mx, rtol=1e-4, atol=1e-5)
