"""Plants small faults, one at a time, and says which of them the tests do not notice.

    python -m tests.mutants.run --seed 7 --python 60 --compiled 40

Faults are drawn by seed, from the files given or from those changed since a revision, and planted
in a copy of the checkout (--folder). For each the tests of the same path are run, then those
that name what it is in, until one fails or the time is over. So a fault called unnoticed may be
noticed by a test that was not run; one called noticed is.
"""

import argparse
import difflib
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.mutants import kernel_rules, lines, python_rules, selection
from tests.mutants.checkout import ROOT, Checkout

EQUIVALENT = Path(__file__).with_name("equivalent.txt")
FOLDER = os.path.join(tempfile.gettempdir(), f"cynet-mutants-{os.getuid()}")
MEMORY = 24 << 30  # of address space: a fault may ask for any amount
COMPILED = (".pyx", ".cc", ".h")
MODULES = 3  # that are compiled anew for a fault in a header: its nearest users


class Fault:
    """One file with one small change."""

    def __init__(self, path, old, new, kind=""):
        self.path, self.new, self.kind = path, new, kind
        found = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
        self.diff = [line for line in found if line[:3] not in ("---", "+++")]
        starts = [each.split()[1].lstrip("-").split(",") for each in self.diff if each[:2] == "@@"]
        self.lines = {int(at) + i for at, *n in starts for i in range(int((n or ["1"])[0]) or 1)}
        self.line = min(self.lines) or 1

    @property
    def key(self):
        """As equivalent.txt has it: path, then the old and the new lines."""
        sides = [" ".join(d[1:].strip() for d in self.diff if d[0] == sign) for sign in "-+"]
        return f"{self.path}: {sides[0]} -> {sides[1]}"


def source_files(suffixes, given, since):
    """Files to draw from: given, changed since a revision, or all of the package."""
    if since:
        command = ["git", "diff", "--name-only", since, "--", "cynet", "cynet_cuda_cpu"]
        given = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        given = given.stdout.split()
    paths = [ROOT / each for each in given] or [ROOT / "cynet", ROOT / "cynet_cuda_cpu"]
    found = [p for path in paths for p in ([path] if path.is_file() else path.rglob("*"))]
    found = sorted({p.relative_to(ROOT) for p in found if p.suffix in suffixes})
    return [p for p in found if p.name != "__init__.py" and "build" not in p.parts]


def drawn(paths, count, seed, draw):
    """`count` different faults, files drawn by their size."""
    rng, known = random.Random(seed), set(EQUIVALENT.read_text().splitlines())
    texts = [(ROOT / path).read_text() for path in paths]
    sizes = [text.count("\n") for text in texts]
    faults, tries = {}, 0
    while texts and len(faults) < count and tries < 50 * count:
        tries += 1
        [at] = rng.choices(range(len(paths)), sizes)
        found = draw(texts[at], rng, paths[at])
        if found is None or found[1] == texts[at]:
            continue
        kind, new = found
        if paths[at].suffix == ".py":
            try:
                compile(new, str(paths[at]), "exec")
            except (SyntaxError, ValueError):
                continue
        fault = Fault(paths[at], texts[at], new, kind)
        if fault.key not in known:
            faults.setdefault(fault.key, fault)
    return list(faults.values())


def in_python(text, rng, path):
    return python_rules.draw(text, rng)


def in_compiled(text, rng, path):
    return kernel_rules.draw(text, rng, path.suffix == ".pyx")


def used():
    """CPU seconds of all tests so far: other programs of the machine do not count."""
    each = resource.getrusage(resource.RUSAGE_CHILDREN)
    return each.ru_utime + each.ru_stime


class Runner:
    """Runs tests in the copy, each batch through the command `before`."""

    def __init__(self, checkout, before, limit, lines=""):
        self.checkout, self.before, self.limit, self.lines = checkout, before, limit, lines
        self.broken = []  # tests that fail without any fault
        self.environ = os.environ | {
            "PYTHONPATH": str(checkout.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.environ["CYNET_TEST_SEED"] = "1"

    def fails(self, arguments, seconds):
        """What the tests say: (the test that failed or None, why) or None where they pass."""
        clock = 10 * seconds  # beside other programs
        command = [*self.before, "timeout", "-s", "KILL", f"{clock:.0f}"]
        command += [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-rfE", "--tb=line"]
        command += ["-p", "no:cacheprovider", "--timeout=300", *arguments]
        command += [f"--deselect={test}" for test in self.broken]
        process = subprocess.Popen(
            command,
            cwd=self.checkout.folder,
            env=self.environ,
            text=True,
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )
        try:
            text, _ = process.communicate()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode in (0, 5, 137, -9):  # passed, no test, out of time
            return None
        if process.returncode == 4 and "not found" in text:
            raise RuntimeError(text[-2000:])
        tests = re.findall(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", text, re.M)
        shown = [line for line in text.splitlines() if "Error" in line or "assert" in line]
        why = f"status {process.returncode}: {(shown or ['?'])[0].strip()[:120]}"
        return (tests or [None])[0], why

    def fails_anyway(self, test):
        """Whether a test fails in the copy as it was."""
        self.checkout.restore()
        if test is None or not self.fails([test], 60):
            return False
        self.broken.append(test)
        return True

    def judge(self, fault):
        """(whether it was noticed, by what or why not)."""
        while True:
            found, test, why = self._judge(fault)
            if not found or not self.fails_anyway(test):
                return found, f"{test or ''} {why}".strip()

    def _judge(self, fault):
        compiled = fault.path.suffix != ".py"
        self.checkout.write(str(fault.path), fault.new)
        try:
            if compiled:
                modules = selection.modules_of(ROOT / fault.path)[:MODULES]
                names = [".".join(p.relative_to(ROOT).with_suffix("").parts) for p in modules]
                if names and not self.checkout.build(names, self.before):
                    return None, None, "does not compile"
                users = selection.declarations(ROOT / fault.path) + modules
                batches = (
                    selection.for_compiled(users) if users else selection.for_headers(fault.path)
                )
            else:
                running = self.lines and lines.tests_of(self.lines, fault.path, fault.lines)
                batches = selection.for_python(fault.path, fault.line, running)
                if fault.kind == "default":  # of public functions, in one list
                    batches[0] = [*batches[0], "tests/test_defaults.py"]
            end = used() + self.limit
            for number, batch in enumerate(batches):
                left = end - used()
                if left < 3 and number:
                    return False, None, f"not in {self.limit:.0f} s"
                found = self.fails(batch, max(left, 30))
                if found:
                    return True, *found
            return False, None, "by none of its tests"
        finally:
            self.checkout.restore()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="files or folders to draw from (both packages)")
    parser.add_argument("--since", default="", help="draw from files changed since this revision")
    parser.add_argument("--seed", type=int, help="repeat a run (default: a new one)")
    parser.add_argument("--python", type=int, default=60, help="faults in .py files (60)")
    parser.add_argument("--compiled", type=int, default=40, help=f"faults in {COMPILED} (40)")
    parser.add_argument("--limit", type=float, default=120, help="seconds of tests a fault (120)")
    parser.add_argument("--through", default="", help="a command put before each run of tests")
    parser.add_argument("--lines", default="", help="a folder that tests/mutants/lines.py wrote")
    parser.add_argument("--folder", default=FOLDER, help="of the copy")
    parser.add_argument("--first", type=int, default=1, help="go on with this fault of the seed")
    parser.add_argument("--list", action="store_true", help="only show the faults")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**31)
    kinds = ("python", (".py",), in_python), ("compiled", COMPILED, in_compiled)
    faults = []
    for name, suffixes, draw in kinds:
        paths = source_files(suffixes, options.files, options.since)
        faults += drawn(paths, getattr(options, name), seed, draw)
    print(f"{len(faults)} faults, seed {seed}", flush=True)
    if options.list:
        print("\n".join(f"{fault.kind:10} {fault.key}" for fault in faults))
        return
    runner = Runner(Checkout(options.folder), options.through.split(), options.limit, options.lines)
    noticed, judged, survivors = Counter(), Counter(), []
    for number, fault in enumerate(faults[options.first - 1 :], options.first):
        found, why = runner.judge(fault)
        print(
            f"{number}: {fault.kind}: {fault.key}\n    {'noticed' if found else 'NOT'}: {why}",
            flush=True,
        )
        if found is not None:
            kind = "Python" if fault.path.suffix == ".py" else "compiled"
            part = "/".join(fault.path.parts[1:3][:-1] or ["root"])
            for area in (f"all {kind}", f"kind: {fault.kind}", part):
                judged[area] += 1
                noticed[area] += found
            survivors += [] if found else [fault]
    print(f"\nseed {seed}: noticed by kind of fault and by area")
    for area in sorted(judged, key=lambda a: (not a.startswith("all "), "kind: " not in a, a)):
        print(
            f"{area:20} {noticed[area]:4} of {judged[area]:4} {noticed[area] / judged[area]:6.0%}"
        )
    print("\nnot noticed:")
    for fault in survivors:
        print("\n".join([f"{fault.path}:{fault.line}", *fault.diff[1:], ""]))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the copy is restored then too
    main()
