"""benchmarks/serving.py: both servers answer, and the same."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "serving.py"


def test_it_measures_both_servers():
    pytest.importorskip("waitress", reason="waitress is not installed")
    pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    command = [sys.executable, PROGRAM, "--onnxruntime", sys.executable, "--networks", "cnn"]
    ran = subprocess.run(
        [*command, "--seconds", "0.1", "--rounds", "1"], capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr  # it compares the answers itself
    found = json.loads(ran.stdout.splitlines()[-1])
    wanted = [
        f"two convolutions, 28x28, {clients}, {server}"
        for clients in (1, 16)
        for server in ("cynet", "cynet, v2", "ONNX Runtime", "ONNX Runtime, 1 thread")
    ]
    assert list(found) == wanted
    for rate, p50, p99, cpu in found.values():
        assert rate > 0 and 0 < p50 <= p99 and cpu >= 0
