"""cynet beside PyTorch and MXNet on the same work, interleaved; writes the tables of
benchmarks/README.md.

``python benchmarks/peers/run.py --torch PYTHON --mxnet PYTHON``; setup.sh makes both. A ratio is
the peer's time over cynet's of the same round; in the table stands the median over the rounds.

Every row is kept in ``build/peers/results.json`` as soon as it is measured, so that the table can
be made in pieces: ``run.py ... lenet add`` measures two rows, ``run.py --write`` writes what is
there.
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
RESULTS = HERE.parents[1] / "build" / "peers" / "results.json"
sys.path.insert(0, str(HERE.parent))
import engine_push  # noqa: E402
import memory  # noqa: E402
from workloads import WORKLOADS  # noqa: E402

HEAD = ("| work | cynet | PyTorch | MXNet | x PyTorch | x MXNet |", "|---|---|---|---|---|---|")
BEGIN, END = "<!-- written by benchmarks/peers/run.py -->", "<!-- end -->"


def ask(python, worker, *args):
    """The output of a worker, or None with its error on stderr."""
    command = [python, "-W", "ignore", str(HERE / worker), *args]
    done = subprocess.run(command, cwd=HERE, capture_output=True)
    try:
        return json.loads(done.stdout.decode().splitlines()[-1])
    except (IndexError, ValueError):
        sys.stderr.write(f"{' '.join(command)} failed:\n{done.stderr.decode()[-1500:]}\n")
        return None


def measure(name, pythons, rounds):
    """Times of one workload: by package, a list of one number (or None) a round; ``mode`` is
    PyTorch's best.

    The first round finds PyTorch's best mode, which the others repeat: compiling takes minutes.
    """
    times, mode = {package: [] for package in pythons}, ()
    for _ in range(rounds):
        for package, python in pythons.items():
            if package == "torch":
                found = ask(python, "worker_torch.py", name, *mode)
                mode = (found["mode"],) if found else ()
                times[package].append(found and found["seconds"])
            else:
                times[package].append(ask(python, "worker_mx.py", package, name))
    if mode:
        times["mode"] = mode[0]
    return times


def middle(values):
    """The median of the numbers that are not None, or None."""
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def ratio(times, peer):
    """The median of the rounds' ratios, or None."""
    pairs = zip(times.get(peer, ()), times["cynet"])
    return middle([theirs / ours for theirs, ours in pairs if theirs and ours])


def number(value, mark=""):
    """Three digits, or a dash."""
    return "-" if value is None else f"{value:.3g}{mark}"


def line(workload, times):
    """A row of the table; a ratio below the aim is marked."""
    scale = 1e6 if workload.unit == "us" else 1e3
    cells = [workload.title]
    for package in ("cynet", "torch", "mxnet"):
        found = [value for value in times.get(package, ()) if value is not None]
        value = middle(found)
        slowest = f" (to {max(found) * scale:.3g})" if package == "cynet" and found else ""
        mode = f" ({times['mode']})" if package == "torch" and "mode" in times else ""
        cells.append(number(None if value is None else value * scale, mode + slowest))
    for peer, aim in (("torch", workload.torch), ("mxnet", workload.mxnet)):
        value = ratio(times, peer)
        short = value is not None and aim is not None and value < aim
        cells.append(number(value, f" (aim {aim})" if short else ""))
    return f"| {' | '.join(cells)} |"


def machine():
    """The processor and what runs on it, in a line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [x.partition(":")[2].strip() for x in info.read_text().splitlines() if "name" in x]
        model = next(iter(names), model)
    return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}"


def engine_times():
    """Seconds of an empty native function: cynet's by row, beside MXNet's figures."""
    import cynet

    theirs = {row.name: row.seconds for row in engine_push.peer_rows()}
    return {row.name: (row.seconds, theirs[row.name]) for row in engine_push.rows(cynet)}


def engine_lines(times):
    """The table of `engine_times`; a row that takes more than 0.8 of MXNet's time is marked."""
    yield "| empty native functions, us each | cynet | MXNet 1.9.1 | cynet / MXNet |"
    yield "|---|---|---|---|"
    for name, (ours, theirs) in times.items():
        share = number(ours / theirs, " (aim 0.8)" if ours > 0.8 * theirs else "")
        yield f"| {name} | {number(ours * 1e6)} | {number(theirs * 1e6)} | {share} |"


def load():
    """The rows measured so far: by workload, its times, date and rounds."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def save(results):
    """Keep the rows."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1))


def page(results):
    """The lines between the marks, of all rows that were measured."""
    rows = {name: results[name] for name in WORKLOADS if name in results}
    dates = sorted({row["date"] for row in rows.values()})
    rounds = sorted({row["rounds"] for row in rows.values()})
    yield (
        f"{' to '.join(dict.fromkeys((dates[0], dates[-1])))}, {machine()}; PyTorch 2.13 in its "
        f"best mode, MXNet 1.9.1; interleaved, medians of {' or '.join(map(str, rounds))} rounds "
        "(to: the slowest process). Milliseconds; `a + b` in microseconds; "
        "x = the other's time / cynet's."
    )
    yield ""
    yield from HEAD
    for name, row in rows.items():
        yield line(WORKLOADS[name], row["times"])
    if "engine" in results:
        yield ""
        yield from engine_lines(results["engine"])
    yield from ("", "Memory of bound executors, batch 32, 224x224, MB of 2**20 bytes:", "")
    yield from memory.table(memory.MXNET)


def write(lines):
    """Put `lines` between the marks of README.md."""
    text = README.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    README.write_text("\n".join([before + BEGIN, "", *lines, "", END + after]))


def main():
    """Measure what is asked for, print the rows, and write the page unless only some were."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", metavar="PYTHON", help="a Python with PyTorch")
    parser.add_argument("--mxnet", metavar="PYTHON", help="a Python with MXNet 1.9.1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write what was measured so far")
    parser.add_argument(
        "workloads", nargs="*", help=f"of {', '.join(WORKLOADS)}, engine (default: all)"
    )
    args = parser.parse_args()
    unknown = sorted(set(args.workloads) - {*WORKLOADS, "engine"})
    if unknown:
        parser.error(f"there is no workload {unknown[0]}")
    pythons = {"cynet": sys.executable, "torch": args.torch, "mxnet": args.mxnet}
    pythons = {package: os.path.abspath(p) for package, p in pythons.items() if p}
    results = load()
    asked = args.workloads or ([] if args.write else [*WORKLOADS, "engine"])
    if asked:
        print("\n".join(HEAD))
    for name in asked:
        if name == "engine":
            results[name] = engine_times()
            print("\n".join(engine_lines(results[name])), flush=True)
        else:
            times = measure(name, pythons, args.rounds)
            date = str(datetime.date.today())
            results[name] = {"times": times, "date": date, "rounds": args.rounds}
            print(line(WORKLOADS[name], times), flush=True)
        save(results)
    if args.write or not args.workloads:
        write(list(page(results)))


if __name__ == "__main__":
    main()
