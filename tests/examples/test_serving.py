"""examples/serving: a network is served and asked from many clients."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_load_test_serves_and_measures(tmp_path):
    pytest.importorskip("waitress")
    command = [sys.executable, str(ROOT / "examples" / "serving" / "load_test.py")]
    for _ in range(3):  # on a busy machine the clients may come one by one
        done = subprocess.run(
            [*command, "--clients", "8", "--requests", "40"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, "")
        rows = re.findall(r"^ +(\d+) +(\d+) +([\d.]+) +([\d.]+) +([\d.]+)$", done.stdout, re.M)
        assert [row[0] for row in rows] == ["1", "32"] and rows[0][4] == "1.0"
        if float(rows[1][4]) > 1:
            return
    pytest.fail(f"no requests of 8 clients were put together:\n{done.stdout}")


@pytest.mark.parametrize("arguments", [["--by-hand"], []])
def test_two_models_are_asked_by_the_open_inference_protocol(arguments, tmp_path):
    pytest.importorskip("waitress")
    command = [sys.executable, str(ROOT / "examples" / "serving" / "v2_client.py"), *arguments]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["three [3.0, 12.0]", "five [10.0, 35.0]"]
