"""Inputs that have other numbers of axes are refused, and no length is read that is not there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cynet as mx

ROOT = Path(__file__).parents[2]


def test_every_operator():
    ran = subprocess.run(
        [sys.executable, "-m", "tests.operator.rank_sweep", "0", "1"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    faults = [line for line in ran.stdout.splitlines() if line.startswith("FAULT")]
    assert not faults, "\n".join(faults[:20])
    assert "refused" in ran.stdout


def test_no_axes():
    with mx.util.np_shape(True):
        scalar = mx.nd.array(3.0)
        assert scalar.shape == ()
        for call in (mx.nd.contrib.fft, mx.nd.contrib.ifft):
            with pytest.raises(mx.errors.ShapeError, match=r"ifft|fft.*"):
                call(scalar)
