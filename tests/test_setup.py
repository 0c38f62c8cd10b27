"""setup.py: how many compilers run, and where progress is shown without a terminal."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SETUP = """
import runpy, sys
sys.argv = ["setup.py", "--name"]
setup = runpy.run_path("setup.py")
"""


def run(script, *arguments, **variables):
    """A program that has run setup.py, in a session without a terminal: (output, stderr)."""
    kept = {k: v for k, v in os.environ.items() if k not in ("CYNET_BUILD_JOBS", "MAKEFLAGS")}
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", *(arguments or ("-c", SETUP + script))],
        **{"cwd": ROOT, "env": {**kept, **variables}, "start_new_session": True, "text": True},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 120},
    )
    return ran.stdout.removeprefix("cynet-mx\n"), ran.stderr


@pytest.mark.parametrize(
    ("variables", "count"),
    [
        ({}, os.cpu_count()),
        ({"CYNET_BUILD_JOBS": "3", "MAKEFLAGS": "-j5"}, 3),
        ({"MAKEFLAGS": "-j5"}, 5),
        ({"MAKEFLAGS": " -j7 --jobserver-auth=3,4"}, 7),
        ({"MAKEFLAGS": "k -j"}, os.cpu_count()),
    ],
)
def test_how_many_compilers_run_is_said_by_variables(variables, count):
    pytest.importorskip("setuptools")
    assert run("print(setup['jobs']())", **variables) == (f"{count}\n", "")


def test_a_number_of_compilers_that_is_none_is_refused():
    pytest.importorskip("setuptools")
    _, error = run("setup['jobs']()", CYNET_BUILD_JOBS="many")
    assert "CYNET_BUILD_JOBS must be an int of 1 or more, got 'many'" in error


TOLD = "setup['tell']('begun'); setup['tell']('1 of 9', now=False); setup['tell']('9 of 9\\n')"


def test_without_a_terminal_progress_is_a_line_a_minute():
    pytest.importorskip("setuptools")
    assert run(TOLD) == ("begun\n9 of 9\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="the parent's files are found in Linux's /proc")
def test_progress_passes_by_a_frontend_that_keeps_the_output_of_builds(tmp_path):
    pytest.importorskip("setuptools")
    hook, frontend = tmp_path / "_in_process.py", tmp_path / "frontend.py"
    hook.write_text(SETUP + TOLD)
    frontend.write_text(
        "import subprocess, sys\n"
        f"subprocess.run([sys.executable, {str(hook)!r}], check=True, stderr=subprocess.STDOUT,\n"
        "               stdout=subprocess.PIPE)\n"
    )
    assert run("", str(frontend)) == ("", "begun\n9 of 9\n")
