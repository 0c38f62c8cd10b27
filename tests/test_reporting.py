"""What a run of the tests says at its end."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import reporting


@pytest.mark.parametrize(
    "reason, wanted",
    [
        ("no AMX", "AMX"),
        ("no MNIST under CYNET_DATA_DIR", "CYNET_DATA_DIR="),
        ("in full size only under make stress", "make stress"),
        ("could not import 'onnxruntime': No module named 'onnxruntime'", "install onnxruntime"),
        ("could not import 'playwright.sync_api': No module named 'playwright'", "make site"),
        ("mypy is not installed", "pip install mypy"),
        ("CYNET_TEST_GPU is not set; tests/cuda/test_simulated.py runs these", "make test-gpu"),
    ],
)
def test_a_reason_has_a_remedy(reason, wanted):
    assert wanted in reporting.remedy(reason)


def test_every_reason_of_the_tests_has_one():
    """Those that are written out as text; `importorskip` makes its own."""
    pattern = re.compile(r'(?:\bskip\(|reason=)\s*f?"([^"]{3,})"')
    silent = []
    for path in Path(reporting.__file__).parent.rglob("*.py"):
        if path.name == Path(__file__).name or "pytest" not in (text := path.read_text()):
            continue
        silent += [f"{path.name}: {r}" for r in pattern.findall(text) if not reporting.remedy(r)]
    assert not silent, "say in tests/reporting.py what would run these"


PLUGIN = """
from tests import reporting
from pathlib import Path
reporting.ROOT = Path.cwd()
def pytest_configure(config):
    config.pluginmanager.register(reporting.Leftovers(), "leftovers")
"""


def test_a_run_that_leaves_a_file_fails(tmp_path):
    def run(body):
        (tmp_path / "test_it.py").write_text(body)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "no.ini"]
        home = str(Path(reporting.__file__).parent.parent)
        done = subprocess.run(
            [*command, "--rootdir", ".", "test_it.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": home},
        )
        return done.returncode, done.stdout

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "no.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(PLUGIN)
    skipped = "import pytest\n@pytest.mark.skip(reason='no AMX')\ndef test_a(): pass\n"
    status, text = run(skipped + "def test_b(): pass\n")
    assert status == 0 and "run by: a CPU with AMX" in text
    status, text = run("def test_a(): open('net.params', 'w').close()\n")
    assert status == 1 and "left in the checkout" in text and "net.params" in text
