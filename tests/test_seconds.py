"""Processor time by file of tests: child processes count, and what workers report is joined."""

import subprocess
import sys
import time
from types import SimpleNamespace

from tests import seconds

BUSY = "import time\nwhile time.process_time() < {}: pass"


def test_child_processes_count():
    """Those that have ended, and those that still run."""
    before = seconds.spent()
    subprocess.run([sys.executable, "-c", BUSY.format(0.3)], check=True)
    assert 0.25 < seconds.spent() - before < 30
    child = subprocess.Popen([sys.executable, "-c", BUSY.format(60)])
    try:
        before, until = seconds.spent(), time.monotonic() + 60
        while seconds.spent() - before < 0.2 and time.monotonic() < until:
            time.sleep(0.05)
        assert seconds.spent() - before >= 0.2
    finally:
        child.kill()
        child.wait()


class Report:
    """A terminal that keeps what it is told."""

    def __init__(self):
        self.text = ""

    def section(self, title):
        self.text += title + "\n"

    line = section


def test_files_are_told_and_noted(monkeypatch, tmp_path):
    """A run in two processes, of which each has its files; those of earlier runs stay."""
    clock = iter([0.0, 1.0, 3.0, 3.5, 10.0, 10.0])  # begun, files, end; the other begun
    monkeypatch.setattr(seconds, "spent", lambda: next(clock))
    noted = tmp_path / "tests/seconds.txt"
    noted.parent.mkdir()
    for name in ("test_a.py", "test_b.py", "test_c.py", "test_old.py"):
        (noted.parent / name).write_text("")
    noted.write_text(
        "# CPU seconds\n   9.0 tests/test_a.py\n   5.0 tests/test_old.py\n"
        "   7.0 tests/test_gone.py\n"
    )
    monkeypatch.setattr(seconds, "KNOWN", noted)
    assert seconds.known()["tests/test_gone.py"] == 7.0
    worker = seconds.Seconds(SimpleNamespace(workeroutput={}))
    for name in ("test_a.py::one", "test_a.py::two[x]", "test_b.py::one", "test_a.py::three"):
        worker.pytest_runtest_setup(SimpleNamespace(nodeid=f"tests/{name}"))
    worker.pytest_sessionfinish()
    assert worker.config.workeroutput == {
        "seconds": {"tests/test_a.py": 2.0 + 6.5, "tests/test_b.py": 0.5}
    }
    config = SimpleNamespace(getoption=lambda name: name == "note_seconds")
    main = seconds.Seconds(config)
    main.pytest_testnodedown(worker)
    main.pytest_testnodedown(worker.config)
    main.pytest_testnodedown(SimpleNamespace(workeroutput={"seconds": {"tests/test_c.py": 0.25}}))
    report = Report()
    main.pytest_terminal_summary(report)
    assert report.text == "CPU seconds of files, of 9\n   8.5 tests/test_a.py\n"
    assert noted.read_text() == (
        "# CPU seconds of each file of tests\n   8.5 tests/test_a.py\n   0.5 tests/test_b.py\n"
        "   0.2 tests/test_c.py\n   5.0 tests/test_old.py\n"
    )
