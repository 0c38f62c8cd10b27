"""Networks of the vision operators: names, shapes, outputs and gradients of MXNet 1.9.1.

vision_networks.npz is what tests/fixtures/vision_networks.py computed there.
"""

from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.vision_networks import NETWORKS, compute

FIXTURES = Path(__file__).parents[1] / "fixtures" / "vision_networks.npz"


@pytest.mark.parametrize("name", NETWORKS)
def test_agrees_with_mxnet(name):
    with np.load(FIXTURES) as file:
        wanted = {k.partition("/")[2]: file[k] for k in file if k.startswith(f"{name}/")}
    with mx.name.NameManager():  # names count from 0, as in the process that made the file
        found = compute(mx, name)
    assert list(found) == list(wanted)
    for key, expected in wanted.items():
        array = found[key]
        if expected.dtype.kind == "U":
            assert array.tolist() == expected.tolist(), key
            continue
        if array.shape != expected.shape:
            array = array.reshape(-1)[:: array.size // 500]
        size = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(array / size, expected / size, 0, 2e-5, err_msg=f"{name}: {key}")
