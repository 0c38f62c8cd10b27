"""Imperative calls of cynet beside PyTorch and MXNet, interleaved, at three sizes.

``python benchmarks/peers/operators.py --torch PYTHON --mxnet PYTHON [NAME ...]`` prints a table of
times and ratios (the peer's time / cynet's) and keeps them in ``build/peers/operators.json``;
``--write`` makes benchmarks/imperative_calls.md of what was kept. A NAME is a row's or a part of
it.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

import operator_cases as cases

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "build" / "peers" / "operators.json"
PAGE = HERE.parent / "imperative_calls.md"


def names():
    """All rows, in order."""
    texts = [(HERE / f"operator{part}.py").read_text() for part in ("_cases", "s_torch")]
    return re.findall(r'^        "(.+?)": (?:lambda|\w+,$)', "".join(texts), re.MULTILINE)


class Worker:
    """A process that times calls of one package."""

    def __init__(self, python, *args):
        command = [python, "-W", "ignore", str(HERE / args[0]), *args[1:]]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HERE
        )

    def ask(self, *question):
        """Seconds, or None."""
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        """Let the process go."""
        self.process.stdin.close()
        self.process.wait()


def measure(workers, size, name, rounds, budget):
    """Medians by package of `rounds` turns."""
    times = {package: [] for package in workers}
    for _ in range(rounds):
        for package, worker in workers.items():
            seconds = worker.ask(size, name, budget)
            if seconds is not None:
                times[package].append(seconds)
            time.sleep(0.004)  # threads that still look for work would stand in the next one's way
    return {package: statistics.median(t) for package, t in times.items() if t}


def readable(seconds):
    """Three digits and a unit."""
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def cell(times):
    """cynet's time and the ratios."""
    if "cynet" not in times:
        return "-"
    ratios = [f"{times[p] / times['cynet']:.2g}" if p in times else "-" for p in ("torch", "mxnet")]
    return f"{readable(times['cynet'])}, {' / '.join(ratios)}"


def page(results):
    """The lines of benchmarks/imperative_calls.md."""
    yield "# Imperative calls beside PyTorch and MXNet"
    yield ""
    yield (
        "Written by `benchmarks/peers/operators.py --write`. Each cell: cynet's time, then the "
        "times of PyTorch (eager) and MXNet as multiples of it; float32; the wait for the result "
        "included. 10, 10,000 and 10 million elements, or what operator_cases.py has for products "
        "and layers."
    )
    yield ""
    yield f"| call | {' | '.join(cases.SIZES)} |"
    yield "|---" * (1 + len(cases.SIZES)) + "|"
    for name in names():
        row = results.get(name, {})
        yield f"| {name} | {' | '.join(cell(row.get(size, {})) for size in cases.SIZES)} |"


def main():
    """Measure the rows asked for, print and keep them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--mxnet", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0.05, help="seconds of a turn")
    parser.add_argument("--sizes", nargs="*", default=list(cases.SIZES))
    parser.add_argument("--write", action="store_true", help="write the page, measure nothing")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if args.write:
        PAGE.write_text("\n".join([*page(results), ""]))
        return
    chosen = [n for n in names() if not args.names or any(part in n for part in args.names)]
    workers = {"cynet": Worker(sys.executable, "operators_mx.py", "cynet")}
    if args.torch:
        workers["torch"] = Worker(os.path.abspath(args.torch), "operators_torch.py")
    if args.mxnet:
        workers["mxnet"] = Worker(os.path.abspath(args.mxnet), "operators_mx.py", "mxnet")
    for size in args.sizes:
        for name in chosen:
            times = measure(workers, size, name, args.rounds, args.budget)
            results.setdefault(name, {})[size] = times
            print(f"{size:>8} {name:<30} {cell(times)}", flush=True)
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            RESULTS.write_text(json.dumps(results, indent=1))
    for worker in workers.values():
        worker.end()


if __name__ == "__main__":
    main()
