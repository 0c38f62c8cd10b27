"""No operator crashes on a dtype: it computes, or an error names it."""

import subprocess
import sys


def test_every_case_with_every_dtype():
    run = subprocess.run(
        [sys.executable, "-m", "tests.operator.every_dtype"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    last = run.stderr.strip().splitlines()[-1:]
    assert run.stdout.endswith("end\n"), f"ended in {last}: {run.returncode}\n{run.stderr[-2000:]}"
    *wrong, taken, _ = run.stdout.split("found:\n")[1].splitlines()
    assert not wrong, "\n".join(wrong)
    assert int(taken.split()[0]) > 1000
