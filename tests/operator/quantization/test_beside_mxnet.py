"""Operators on quantized arrays beside what MXNet 1.9.1 computed (fixtures/quantized.py)."""

import ast
from pathlib import Path

import numpy as np
import pytest

import cynet as mx

FIXTURE = np.load(Path(__file__).parents[2] / "fixtures" / "quantized.npz")
CALLS = sorted(name.removesuffix("_call") for name in FIXTURE.files if name.endswith("_call"))
SUM = "quantized_elemwise_add"
COMBINED = (SUM, "quantized_concat")


def arrays(call, kind):
    found = []
    while f"{call}_{kind}{len(found)}" in FIXTURE.files:
        found.append(FIXTURE[f"{call}_{kind}{len(found)}"])
    return found


@pytest.mark.parametrize("call", CALLS)
def test_as_mxnet(call):
    name, params = ast.literal_eval(str(FIXTURE[f"{call}_call"]))
    given = [mx.nd.array(v, dtype=v.dtype) for v in arrays(call, "in")]
    made = getattr(mx.nd.contrib, name)(*given, **params)
    made = made if isinstance(made, (list, tuple)) else [made]
    expected = arrays(call, "out")
    assert len(made) == len(expected)
    ranges = name == "quantized_conv"  # MXNet's is that of data of int8
    for i, (value, wanted) in enumerate(zip(made, expected)):
        found = value.asnumpy()
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), name
        if wanted.dtype == np.float32:
            wanted = wanted * (127 / 255 if ranges else 1)
            np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=f"{name} {params} {i}")
        elif name == SUM and wanted.dtype == np.int32:  # which MXNet makes of floats
            np.testing.assert_allclose(found, wanted, rtol=0, atol=256, err_msg=f"{params}")
        elif name in COMBINED:  # MXNet rounds an array of uint8 beside one of int8 twice
            assert abs(found.astype(int) - wanted).max() <= 1, params
            assert given[0].dtype != given[1].dtype or (found != wanted).mean() < 0.02, params
        elif name == "quantized_batch_norm":  # by factors that it has in float32
            assert abs(found.astype(int) - wanted).max() <= 1, params
            assert (found != wanted).mean() < 0.05, params
        else:
            np.testing.assert_array_equal(found, wanted, err_msg=f"{name} {params} {i}")
