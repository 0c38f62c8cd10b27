"""The GPU suite on the simulated driver, in a process of its own."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .driver.build import pycuda_object

ROOT = Path(__file__).parent.parent.parent
FILES = sorted(p.name for p in (ROOT / "tests" / "gpu").glob("test_*.py"))


def test_the_suite_can_be_imported():
    """Also where nothing runs it."""
    assert len(FILES) > 10
    for file in FILES:
        importlib.import_module(f"tests.gpu.{file.removesuffix('.py')}")


@pytest.mark.skipif(pycuda_object() is None, reason="pycuda is not installed (README: GPUs)")
@pytest.mark.parametrize("file", FILES)
def test_on_the_simulated_driver(file):
    env = {**os.environ, "CYNET_TEST_GPU": "simulated"}
    env.pop("CUDA_VISIBLE_DEVICES", None)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", f"tests/gpu/{file}"]
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"\d+ passed", done.stdout), done.stdout
