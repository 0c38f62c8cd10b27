"""CustomOps that wait and call operators inside never starve: one worker, forks, spawns, threads.

CYNET_STRESS_ITERATIONS makes the runs longer (`make stress`).
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ITERATIONS = int(os.environ.get("CYNET_STRESS_ITERATIONS") or 400)
SECONDS = 60 + ITERATIONS // 20  # a deadlock, not a slow machine, is what takes longer

PROGRAM = Path(__file__).with_name("nested_operators.py")


@pytest.mark.parametrize("how", ["here", "fork", "spawn", "threads"])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.timeout(SECONDS + 30)
def test_eight_nested_operators(tmp_path, how, workers):
    """One worker for native functions, and one thread a kernel, is where a deadlock would show."""
    iterations = ITERATIONS if workers == 1 else ITERATIONS // 10
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "CYNET_CPU_WORKERS": str(workers),
        "CYNET_NUM_THREADS": str(workers),
    }
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", PROGRAM, how, str(iterations)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert done.stdout.endswith(f"done {how} {iterations}\n")


def test_the_naive_engine_runs_them_too(tmp_path):
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "CYNET_ENGINE_TYPE": "NaiveEngine",
    }
    command = [sys.executable, PROGRAM, "here", "20"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
