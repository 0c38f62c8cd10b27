"""Edge values of every dtype, on each level of CPU capability (edges.py says what is compared)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.kernels.isa.dispatch import cpu_capabilities
from tests.operator.tensor.test_integer_scalars import check, expected


@pytest.mark.parametrize("level", [name for name in cpu_capabilities() if name != "amx"])
def test_edges(level):
    run = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.operator.tensor.edges"],
        env={**os.environ, "CYNET_CPU_CAPABILITY": level},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.stdout.strip() == "done", run.stderr[-3000:]


def entries():
    path = Path(__file__).parent.parent.parent / "fixtures" / "edges.json"
    return json.loads(path.read_text())


@pytest.mark.parametrize("entry", entries(), ids=lambda e: f"{e['op']}-{e['inputs'][0][1]}")
def test_as_mxnet_has_it(entry):
    """What MXNet 1.9.1 gives (tests/fixtures/edges.py)."""
    function = getattr(mx.nd, entry["op"], None) or getattr(mx.nd._internal, entry["op"])
    arrays = [mx.nd.array(np.array(v, t), dtype=t) for v, t in entry["inputs"]]
    if entry["output"] == "error":
        with pytest.raises(mx.base.MXNetError, match=f"operator {entry['op']}"):
            function(*arrays, **entry["params"]).wait_to_read()
        return
    found = function(*arrays, **entry["params"]).asnumpy()
    if entry["op"] in ("argmax", "argmin"):  # of narrow dtypes in float32 (differences.md)
        assert found.dtype == "float32"
        found = found.astype(entry["dtype"])
    assert str(found.dtype) == entry["dtype"]
    wanted = np.array(entry["output"], entry["dtype"])
    number = entry["params"].get("scalar", 0)
    if found.dtype.kind in "iu" and number != int(number):  # which MXNet cuts first
        values, dtype = arrays[0].asnumpy().tolist(), entry["dtype"]
        check(found.tolist(), expected(entry["op"], dtype, values, number), entry["op"])
        return
    near = 0 if found.dtype.kind != "f" else 4e-7
    np.testing.assert_allclose(found.astype("d"), wanted.astype("d"), near, 3e-45)
