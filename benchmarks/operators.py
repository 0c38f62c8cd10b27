"""Every operator of the registry beside MXNet and PyTorch: forward and backward, small and large.

``PYTHONPATH=. python benchmarks/operators.py --mxnet PYTHON --torch PYTHON [NAME or FAMILY ...]``
measures what was not measured yet (``--again``: all of it), turn about, and keeps medians in
``build/peers/sweep.json``; ``--worst`` lists operators below half of MXNet's speed, ``--write``
makes benchmarks/operators.md. How operators are called: peers/sweep_settings.py.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "peers")]

import numpy as np  # noqa: E402
import sweep_settings  # noqa: E402
from harness import readable  # noqa: E402

RESULTS = HERE.parent / "build" / "peers" / "sweep.json"
PAGE = HERE / "operators.md"
SIZES, DIRECTIONS = ("small", "large"), ("forward", "backward")


class Worker:
    """A process that times calls of one package; a new one is started if it dies."""

    def __init__(self, python, *args):
        self.command = [python, "-W", "ignore", *args]
        self.process = None

    def ask(self, *question):
        """Seconds, or None."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                cwd=HERE / "peers",
                env={**os.environ, "PYTHONPATH": str(HERE.parent)},
            )
        try:
            self.process.stdin.write(json.dumps(question) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline() or "null")
        except OSError:
            return None

    def end(self):
        """Let the process go."""
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def measure(workers, setting, path, direction, rounds, budget):
    """Medians by package of `rounds` turns, for calls that the package has."""
    times = {}
    params = {k: np.asarray(v).tolist() for k, v in setting.params.items() if v is not None}
    for _ in range(rounds):
        for package, worker in workers.items():
            if package in times and not times[package]:
                continue  # the package has no such operator
            question = (setting.op, path, setting.states, params, direction, budget)
            seconds = worker.ask(*question)
            times.setdefault(package, [])
            if seconds is not None:
                times[package].append(seconds)
    return {package: statistics.median(t) if t else None for package, t in times.items()}


def ratio(times, peer):
    """The peer's time as a multiple of cynet's, or None."""
    if not times.get("cynet") or not times.get(peer):
        return None
    return times[peer] / times["cynet"]


def cell(times):
    """cynet's time and the ratios."""
    if not times or not times.get("cynet"):
        return "-"
    ratios = (ratio(times, peer) for peer in ("mxnet", "torch"))
    words = " / ".join("-" if r is None else f"{r:.2g}" for r in ratios)
    return f"{readable(times['cynet'])}, {words}"


def geometric_mean(values):
    """The geometric mean of numbers above 0; NaN without numbers."""
    values = [math.log(v) for v in values if v]
    return math.exp(sum(values) / len(values)) if values else math.nan


def worst(results, peer="mxnet", below=0.5):
    """(ratio, operator, size and direction) of what is slower than so much of the peer's speed."""
    found = []
    for name, row in results.items():
        for column, times in row.items():
            value = ratio(times, peer)
            if value is not None and value < below:
                found.append((value, name, column))
    return sorted(found)


def page(results, families, note=""):
    """The lines of benchmarks/operators.md; `note` says of what machine and day."""
    yield "# Every operator beside MXNet and PyTorch"
    yield ""
    yield (
        "Written by `benchmarks/operators.py --write`. Each cell: cynet's time, then the times of "
        "MXNet 1.9.1 and PyTorch (eager) as multiples of it, - where one has no such operator; "
        "float32, imperative, the wait for the result included; backward is a recorded call and "
        "its backward. Small are the tests' cases, large what `peers/sweep_large.py` has."
    )
    if note:
        yield ""
        yield note
    yield ""
    yield "| geometric mean of | MXNet | PyTorch |"
    yield "|---|---|---|"
    columns = [f"{size} {direction}" for size in SIZES for direction in DIRECTIONS]
    for column in (*columns, "all"):
        means = []
        for peer in ("mxnet", "torch"):
            chosen = columns if column == "all" else [column]
            values = [ratio(row.get(c, {}), peer) for row in results.values() for c in chosen]
            count = sum(value is not None for value in values)
            means.append(f"{geometric_mean(values):.2f} of {count}" if count else "-")
        yield f"| {column} | {' | '.join(means)} |"
    slow = worst(results)
    yield ""
    yield f"Below half of MXNet's speed: {len(slow)}."
    for value, name, column in slow:
        yield f"- `{name}`, {column}: {value:.2f}"
    for family in sorted({families[name] for name in results if name in families}):
        yield ""
        yield f"## {family}"
        yield ""
        yield f"| operator | {' | '.join(columns)} |"
        yield "|---" * (1 + len(columns)) + "|"
        for name in sorted(n for n in results if families.get(n) == family):
            cells = [cell(results[name].get(column)) for column in columns]
            yield f"| `{name}` | {' | '.join(cells)} |"


def chosen_names(families, words):
    """Operators whose name has one of the words in it, or whose family is one; all without any."""
    return [
        name
        for name, family in families.items()
        if not words or family in words or any(word in name for word in words)
    ]


def main(argv=None):
    """Measure the named operators, or show kept results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mxnet", metavar="PYTHON")
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0.03, help="seconds of a turn")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--again", action="store_true", help="measure what was measured, too")
    parser.add_argument("--worst", action="store_true", help="list the slow ones, measure nothing")
    parser.add_argument("--write", action="store_true", help="write the page, measure nothing")
    parser.add_argument("--note", default="", help="a line on the page: the machine, the day")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args(argv)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    families = sweep_settings.operators()
    names = chosen_names(families, args.names)
    if args.write:
        PAGE.write_text("\n".join([*page(results, families, args.note), ""]))
        return
    if args.worst:
        for value, name, column in worst({n: results[n] for n in names if n in results}):
            print(f"{value:.2f}  {name}, {column}: {cell(results[name][column])}")
        return
    workers = {"cynet": Worker(sys.executable, "sweep_worker.py", "cynet")}
    if args.mxnet:
        workers["mxnet"] = Worker(os.path.abspath(args.mxnet), "sweep_worker.py", "mxnet")
    if args.torch:
        workers["torch"] = Worker(os.path.abspath(args.torch), "sweep_torch.py")
    calls = sweep_settings.settings()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "inputs.npz")
        for size in args.sizes:
            for name in names:
                if (name, size) in calls:
                    sweep(calls[name, size], size, path, workers, results, args)
    for worker in workers.values():
        worker.end()


def sweep(make, size, path, workers, results, args):
    """Measure one setting in both directions, and keep the result."""
    setting = None
    for direction in DIRECTIONS:
        column = f"{size} {direction}"
        if setting is None:
            setting = make()
            np.savez(path, **{str(i): x for i, x in enumerate(setting.arrays)})
        row = results.setdefault(setting.op, {})
        if column in row and not args.again:
            continue
        if direction == "backward" and not setting.differentiable:
            continue
        row[column] = measure(workers, setting, path, direction, args.rounds, args.budget)
        print(f"{setting.op:<42} {column:<15} {cell(row[column])}", flush=True)
        RESULTS.parent.mkdir(parents=True, exist_ok=True)
        temporary = RESULTS.with_suffix(".new")
        temporary.write_text(json.dumps(results, indent=1))
        temporary.replace(RESULTS)


if __name__ == "__main__":
    main()
