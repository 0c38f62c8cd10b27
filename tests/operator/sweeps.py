"""Runs a sweep over all operators in a process of its own, so that a crash is a failure here."""

import os
import subprocess
import sys
from pathlib import Path


def check_sweep(name, part, parts, said):
    """Fail unless ``tests.operator.NAME`` ends well, finds no fault and prints what is `said`."""
    ran = subprocess.run(
        [sys.executable, "-m", f"tests.operator.{name}", str(part), str(parts)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    faults = [line for line in ran.stdout.splitlines() if line.startswith("FAULT")]
    assert not faults, "\n".join(faults[:20])
    assert said in ran.stdout
