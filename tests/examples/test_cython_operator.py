"""examples/cython_operator: compiles, checks itself, and prints its comparison."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "cython_operator" / "check_and_time.py"


def test_it_checks_itself_and_compares(tmp_path):
    pytest.importorskip("Cython")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CYNET_HOME": str(tmp_path)}
    for arguments, lines in (((), 9), (("--no-timing", "--seed", "3"), 2)):
        done = subprocess.run(
            [sys.executable, str(SCRIPT), *arguments],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
        assert "values, gradients and requests are right" in done.stdout
        assert len(done.stdout.splitlines()) == lines
    ratios = re.findall(r"us +(\d+\.\d\d)$", done.stdout, re.M)
    assert all(0 < float(ratio) < 10 for ratio in ratios)
