"""How much processor time each file of tests takes, its child processes' with it."""

import os
import resource
from pathlib import Path

import pytest

KNOWN = Path(__file__).with_name("seconds.txt")  # of an earlier run; `pytest --note-seconds` writes
UNKNOWN = 1.0  # of a file that is new


def known():
    """Dict of a file's path to its CPU seconds in the run that was noted."""
    lines = KNOWN.read_text().splitlines() if KNOWN.exists() else []
    pairs = (line.split() for line in lines if not line.startswith("#"))
    return {name: float(seconds) for seconds, name in pairs}


def _processes():
    """Dict of a process's id to (its parent's, seconds it and those it has waited for took)."""
    found, tick = {}, os.sysconf("SC_CLK_TCK")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            rest = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        found[int(folder.name)] = int(rest[1]), sum(map(int, rest[11:15])) / tick
    return found


def spent():
    """CPU seconds of this process, of its children that have ended and of those that live."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        each = resource.getrusage(who)
        total += each.ru_utime + each.ru_stime
    if not Path("/proc/self/stat").exists():
        return total
    processes, own = _processes(), {os.getpid()}
    while more := {p for p, (parent, _) in processes.items() if parent in own} - own:
        total += sum(processes[each][1] for each in more)
        own |= more
    return total


class Seconds:
    """Adds up the time of each file; the process that others report to tells or writes it."""

    def __init__(self, config):
        self.config, self.took = config, {}
        self._file, self._start = None, spent()

    def _next(self, file):
        now = spent()
        if self._file:
            self.took[self._file] = self.took.get(self._file, 0) + now - self._start
        self._file, self._start = file, now

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item):
        file = item.nodeid.partition("::")[0]
        if file != self._file:
            self._next(file)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self):
        self._next(None)
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["seconds"] = self.took

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node):
        self.took |= getattr(node, "workeroutput", {}).get("seconds", {})

    def pytest_terminal_summary(self, terminalreporter):
        if self.config.getoption("note_seconds"):
            rows = known() | {name: round(s, 1) for name, s in self.took.items()}
            rows = {name: s for name, s in rows.items() if (KNOWN.parents[1] / name).exists()}
            text = "".join(f"{s:6.1f} {name}\n" for name, s in sorted(rows.items()))
            KNOWN.write_text(f"# CPU seconds of each file of tests\n{text}")
        slowest = sorted(self.took.items(), key=lambda each: -each[1])[:15]
        if len(self.took) > 1 and slowest:
            terminalreporter.section(f"CPU seconds of files, of {sum(self.took.values()):.0f}")
            terminalreporter.line("\n".join(f"{s:6.1f} {name}" for name, s in slowest if s >= 1))
