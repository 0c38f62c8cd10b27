"""Random networks, training and prediction: with every pass as with none, and as in MXNet.

In float64 passes change nothing but the order of sums. In float32 a rounding may decide another
element of a relu or a maximum, and gradients may cancel (of a shift in front of a BatchNorm): there
passes may not be much further from float64 than float32 is without them.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.random_networks import KINDS, run, summary
from tests.long_runs import STRESS

CASES = 1000 if STRESS else 20
MXNET = json.loads((Path(__file__).parents[1] / "fixtures" / "random_networks.json").read_text())
NEAR = {"float64": 1e-9, "float32": 2e-2}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_with_every_pass_as_with_none(seed, monkeypatch, threads, kind, dtype):
    for case in range(CASES):
        print(f"network {case}")
        number = (seed + case) % (1 << 32)

        def result(passes, dtype, number=number):
            monkeypatch.setenv("CYNET_GRAPH_PASSES", passes)
            return run(mx, kind, number, dtype, common=False)

        wanted, found = result("none", "float64"), result("all", dtype)
        plain = wanted if dtype == "float64" else result("none", dtype)
        assert found.keys() == wanted.keys()
        for key, want in wanted.items():
            near = NEAR[dtype] * (np.linalg.norm(want) + 1e-2)
            near += 10 * np.linalg.norm(plain[key] - want)
            assert np.linalg.norm(found[key] - want) <= near, key


@pytest.mark.parametrize("kind", KINDS)
def test_as_in_mxnet(kind):
    for number, arrays in MXNET[kind].items():
        print(f"network {number}")
        found = summary(run(mx, kind, int(number), "float64", common=True))
        assert found.keys() == arrays.keys()
        for key, want in arrays.items():
            near = 1e-6 * (want[0] + 1)
            np.testing.assert_allclose(found[key], want, rtol=0, atol=near, err_msg=key)
