"""What the benchmark files share: medians of repeated runs, rows, and the command line of a file.

A file defines ``rows(mx)``, a generator of `Row`, and ends with ``main(__doc__, rows)``. It uses
the MXNet 1.x interface only, so that the same work runs in MXNet: ``python benchmarks/imperative.py
--package mxnet``.
"""

import argparse
import importlib
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple


class Row(NamedTuple):
    """One line of the table: what was done, its seconds, and NumPy's seconds for the same."""

    name: str
    seconds: float
    numpy_seconds: float = None


def median_time(function, number=1, repeat=15, warm_up=3):
    """The median over `repeat` runs of the seconds of one call; a run makes `number` calls."""
    return median_times((function,), number, repeat, warm_up)[0]


def median_times(functions, number=1, repeat=15, warm_up=3):
    """Median seconds of a call of each function; the functions take turns."""
    times = [[] for _ in functions]
    for run in range(warm_up + repeat):
        for function, into in zip(functions, times):
            start = time.perf_counter()
            for _ in range(number):
                function()
            if run >= warm_up:
                into.append((time.perf_counter() - start) / number)
    return [statistics.median(each) for each in times]


def readable(seconds):
    """Seconds with a unit that leaves one to three digits before the point.

    >>> readable(0.00012)
    '120.0 us'
    """
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}" if unit == "s" else f"{seconds / size:.1f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def table(title, rows, peer_rows=()):
    """The lines of a table; ratios above 1 say that cynet is faster."""
    peers = {row.name: row.seconds for row in peer_rows}
    lines = [f"{title:<52}{'time':>10}{'NumPy':>9}{'peer':>9}"]
    for row in rows:
        ratios = [row.numpy_seconds, peers.get(row.name)]
        ratios = ["-" if other is None else f"x {other / row.seconds:.2f}" for other in ratios]
        lines.append(f"  {row.name:<50}{readable(row.seconds):>10}{ratios[0]:>9}{ratios[1]:>9}")
    return "\n".join(lines)


def run_file(python, path, package):
    """(title, rows) of one benchmark file, run by the interpreter `python`."""
    command = [python, str(path), "--package", package, "--json"]
    folder = Path(__file__).parent
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder)
    title, rows = json.loads(output.stdout.splitlines()[-1])
    return title, [Row(*row) for row in rows]


def main(title, rows):
    """Run `rows` as a command: a table, or with ``--json`` one line for run.py."""
    parser = argparse.ArgumentParser(description=title)
    parser.add_argument("--package", default="cynet", help="cynet, or mxnet where it is installed")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    beside = parser.add_mutually_exclusive_group()
    beside.add_argument("--mxnet", metavar="PYTHON", help="a Python with MXNet 1.x to compare with")
    beside.add_argument("--torch", metavar="PYTHON", help="or one with PyTorch, where a file can")
    args = parser.parse_args()
    measured = list(rows(importlib.import_module(args.package)))
    title = title.splitlines()[0].rstrip(".")
    peer = args.mxnet or args.torch
    package = "mxnet" if args.mxnet else "torch"
    found = run_file(peer, Path(sys.argv[0]).resolve(), package)[1] if peer else ()
    print(json.dumps([title, measured]) if args.json else table(title, measured, found))
