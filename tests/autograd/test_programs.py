"""Small programs with autograd give what MXNet 1.9.1 gives (autograd_programs.py)."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures.autograd_programs import OVERWRITE, cases, gradients

FOUND = json.loads(
    (Path(__file__).parent.parent / "fixtures" / "autograd_programs.json").read_text()
)


@pytest.mark.parametrize("name, req", cases())
def test_program(name, req):
    for found, expected in zip(gradients(mx, name, req), FOUND[f"{name}, {req}"], strict=True):
        np.testing.assert_allclose(found, expected, 2e-4, 2e-5)


@pytest.mark.parametrize("name", sorted(OVERWRITE))
def test_losses_add(name):
    once, twice = gradients(mx, name), gradients(mx, name, "add")
    np.testing.assert_allclose(twice[1], 2 * np.array(once[1]), 1e-6)
