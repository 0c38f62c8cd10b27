"""Losses of 20 batches, for each network and optimizer, against MXNet 1.9.1's.

tests/fixtures/histories.py has the networks and wrote the losses.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.histories import IMAGES, OPTIMIZERS, TEXTS, losses

FIXTURE = Path(__file__).parents[1] / "fixtures" / "histories.json"


@pytest.fixture(scope="module")
def expected():
    return json.loads(FIXTURE.read_text())


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("network", [*IMAGES, *TEXTS])
def test_history(network, optimizer, expected):
    found = losses(mx, network, optimizer)
    # the sign of a gradient near 0 is decided by its rounding, which differs from CPU to CPU
    near = 3e-4 if optimizer == "signum" else 1e-4
    np.testing.assert_allclose(found, expected[f"{network}/{optimizer}"], near)


def test_they_learn(expected):
    """A history that stands still would agree with anything."""
    for name, history in expected.items():
        assert max(history) - min(history) > 0.01, name
