"""Which test file runs which line of the package: a plugin for pytest, and what reads its files.

    pip install coverage
    CYNET_TEST_LINES=build/lines pytest -n 2 --dist loadfile -p tests.mutants.lines
    python -m tests.mutants.run --lines build/lines

Child processes are not followed: lines that run in those alone have no test here.
"""

import os
from functools import cache
from pathlib import Path

from tests.mutants.checkout import ROOT


class _Follow:
    """Tells Coverage which file the next test is of."""

    def __init__(self, folder):
        import coverage

        folder.mkdir(parents=True, exist_ok=True)
        self._file = None
        self._data = coverage.Coverage(
            data_file=str(folder / f"lines.{os.getpid()}"),
            messages=False,
            source=[str(ROOT / each) for each in ("cynet", "cynet_cuda_cpu")],
        )
        self._data.start()
        self._data.switch_context("import")

    def pytest_runtest_setup(self, item):
        name = item.nodeid.partition("::")[0]
        if name != self._file:
            self._file = name
            self._data.switch_context(name)

    def pytest_unconfigure(self):
        self._data.stop()
        self._data.save()


def pytest_configure(config):
    assign_ranks = not hasattr(config, "workerinput") and config.getoption("numprocesses", None)
    if not assign_ranks:  # the process that only shares out the tests runs nothing
        config.pluginmanager.register(_Follow(Path(os.environ["CYNET_TEST_LINES"])), "lines")


@cache
def _tests_of_lines(folder, path):
    """Dict of a line to the files of tests that run it."""
    import coverage

    found = {}
    for file in Path(folder).glob("*"):
        data = coverage.CoverageData(basename=str(file))
        data.read()
        name = next((n for n in data.measured_files() if n.endswith(f"/{path}")), None)
        for line, tests in data.contexts_by_lineno(name).items() if name else ():
            found.setdefault(line, set()).update(t for t in tests if t.startswith("tests/"))
    return found


def tests_of(folder, path, lines):
    """Files of tests that run one of the lines; None where only imports or no test does."""
    known = _tests_of_lines(folder, str(path))
    tests = {test for line in lines for test in known.get(line, ())}
    return tests or None
