"""benchmarks/busy.py: its smallest form runs, and the process beside it ends."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_smallest_form():
    command = [sys.executable, "benchmarks/busy.py", "--rounds", "1", "small_add"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=True, timeout=120
    )
    assert not done.stderr
    cells = [cell.strip() for cell in done.stdout.splitlines()[-1].strip("| ").split("|")]
    assert cells[0] == "`a + b` on 10 floats"
    assert cells[3] == cells[4] == cells[6] == cells[7] == "-"
    ours, one, ratio = float(cells[1]), float(cells[2]), float(cells[5])
    assert 0 < ours < 1e4 and abs(ratio - one / ours) < 0.02 * ratio


def test_the_busy_process_ends(peers):
    peers("workloads")
    path = list(sys.path)
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import busy
    finally:
        sys.path[:] = path
    with busy.busy(1) as processes:
        assert processes[0].poll() is None
    assert processes[0].poll() is not None
