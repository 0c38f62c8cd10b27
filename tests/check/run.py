"""Lints and tests what a change touches, in a minute and a half: `make check`.

python -m tests.check.run                    what differs from main, committed or not
python -m tests.check.run --since HEAD       what is not committed
python -m tests.check.run cynet/io/libsvm.py as if this file had been changed
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.check import selection
from tests.imports import PACKAGES, ROOT
from tests.seconds import UNKNOWN, known

HOUSE = "tests/test_house.py"
AT_ONCE = 2  # processes of tests
STARTS = 12  # CPU seconds that imports, collection and the rules of the house take
FASTEST = 1.6  # CPU seconds that two processes have in one of the wall


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def since(revision):
    """The commit that changes are counted from: where this branch left `revision`, or HEAD."""
    base = git("merge-base", revision, "HEAD")
    return base.strip() if base else "HEAD"


def changes(revision):
    """Dict of the files that differ from a revision to the lines that are new in them."""
    found, name = {}, None
    for line in (git("diff", "-U0", "--no-renames", revision) or "").splitlines():
        if line.startswith(("--- a/", "+++ b/")):
            name = line[6:]
            found.setdefault(name, set())
        elif part := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(part[1]), int(part[2] or 1)
            found[name] |= set(range(first, first + max(count, 1)))
    for name in (git("ls-files", "-o", "--exclude-standard") or "").splitlines():
        found[name] = set(range(1, (ROOT / name).read_bytes().count(b"\n") + 2))
    return found


def linted(names):
    """Whether the tools that read sources have nothing to say of these files."""
    there = [name for name in names if (ROOT / name).exists()]
    python = [name for name in there if name.endswith((".py", ".pyi"))]
    cython = [n for n in there if n.endswith((".pyx", ".pxd")) and n.startswith(PACKAGES)]
    cpp = [n for n in there if n.endswith((".h", ".c", ".cc", ".cpp", ".cu", ".cuh"))]
    beside = os.path.dirname(sys.executable)  # which call each other by name
    environ = {**os.environ, "PATH": f"{beside}{os.pathsep}{os.environ.get('PATH', '')}"}
    good = True
    tools = {
        "ruff check --no-cache -q": python,
        "ruff format --no-cache --check -q": python,
        "cython-lint": cython,
        "clang-format --dry-run -Werror": cpp,
    }
    for tool, some in tools.items():
        if some:
            command = [*tool.split(), *some]
            good &= subprocess.run(command, cwd=ROOT, env=environ).returncode == 0
    return good


def tested(arguments, seconds):
    """Whether tests pass, shared out to two processes where that is worth the second's start."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", *arguments]
    if seconds > 15:
        command += ["-n", str(AT_ONCE), "--dist", "loadfile", "--no-loadscope-reorder"]
    return subprocess.run(command, cwd=ROOT).returncode in (0, 5)  # 5: none of that name


def plan(changed, wall):
    """(each run's arguments of pytest and CPU seconds, the tests that there is no time for)."""
    chosen = selection.choose(changed)
    pages = sorted(Path(name).name for name in changed if name.endswith(".md"))
    files, words = chosen.walks()
    times, budget = known(), FASTEST * wall - STARTS
    runs, left = [], []
    if files:
        whole = sum(times.get(each, UNKNOWN) for each in files)
        cost = min(whole * (0.1 if words else 1), budget / 3)
        runs.append(([*files, *(["-k", words] if words else [])], cost))
        budget -= cost
    scores = {n: s for n, s in chosen.scores.items() if n != HOUSE and n not in files}
    if scores.pop("tests/test_docs.py", 0) == selection.ITSELF:  # of its programs those changed
        others = " or ".join(["not test_a_page", *pages])
        runs.append((["tests/test_docs.py", "-k", others], 8))
        budget -= 8
    taken, left = selection.within(scores, budget)
    cost = sum(times.get(each, UNKNOWN) for each in taken)
    return [([HOUSE, *taken], cost), *runs], left


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="as if these had been changed")
    parser.add_argument("--since", default="main", help="changes from this revision on (main)")
    parser.add_argument("--seconds", type=float, default=90, help="of the wall (90)")
    parser.add_argument("--list", action="store_true", help="only show what would run")
    options = parser.parse_args()
    began = time.monotonic()
    changed = dict.fromkeys(options.files) or changes(since(options.since))
    if not changed:
        print("nothing has changed")
        return 0
    runs, left = plan(changed, options.seconds)
    shown = ", ".join(list(changed)[:6]) + (", ..." if len(changed) > 6 else "")
    print(f"{len(changed)} files changed: {shown}")
    for arguments, cost in runs:
        print(f"about {cost:.0f} CPU s: {' '.join(arguments)}")
    print(f"left to make test: {len(left)} files of tests that may have to do with it", flush=True)
    if options.list:
        return 0
    good = linted(changed)
    for arguments, cost in runs:
        good &= tested(arguments, cost)
    took = time.monotonic() - began
    print(f"make check: {'passed' if good else 'FAILED'} in {took:.0f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
