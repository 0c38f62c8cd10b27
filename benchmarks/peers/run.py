"""cynet beside PyTorch and MXNet on the same work, turn about; writes the tables of
benchmarks/README.md.

``python benchmarks/peers/run.py --torch PYTHON --mxnet PYTHON``; setup.sh makes both. A ratio is
the peer's time over cynet's of the same round; in the table stands the median over the rounds.
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
sys.path.insert(0, str(HERE.parent))
from workloads import WORKLOADS  # noqa: E402

BEGIN, END = "<!-- written by benchmarks/peers/run.py -->", "<!-- end -->"


def ask(python, worker, *args):
    """What a worker prints, or None with its error on stderr."""
    command = [python, "-W", "ignore", str(HERE / worker), *args]
    done = subprocess.run(command, cwd=HERE, capture_output=True)
    try:
        return json.loads(done.stdout.decode().splitlines()[-1])
    except (IndexError, ValueError):
        sys.stderr.write(f"{' '.join(command)} failed:\n{done.stderr.decode()[-1500:]}\n")
        return None


def measure(name, pythons, rounds):
    """Times of one workload: by package, a list of one number (or None) a round.

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
    return times


def middle(values):
    """The median of what is there, or None."""
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
    """A row of the table; a ratio below what is aimed at is marked."""
    scale = 1e6 if workload.unit == "us" else 1e3
    cells = [workload.title]
    for package in ("cynet", "torch", "mxnet"):
        value = middle(times.get(package, ()))
        cells.append(number(None if value is None else value * scale))
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


def engine_lines():
    """The engine's rows beside MXNet's figures."""
    import engine_push

    import cynet

    theirs = {row.name: row.seconds for row in engine_push.peer_rows()}
    yield "| empty native functions, us each | cynet | MXNet 1.9.1 | cynet / MXNet |"
    yield "|---|---|---|---|"
    for row in engine_push.rows(cynet):
        share = number(row.seconds / theirs[row.name])
        times = f"{number(row.seconds * 1e6)} | {number(theirs[row.name] * 1e6)}"
        yield f"| {row.name} | {times} | {share} |"


def write(lines):
    """Put `lines` between the marks of README.md."""
    text = README.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    README.write_text("\n".join([before + BEGIN, "", *lines, "", END + after]))


def main():
    """Measure what is asked for, print the rows, and write them unless only some were."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", metavar="PYTHON", help="a Python with PyTorch")
    parser.add_argument("--mxnet", metavar="PYTHON", help="a Python with MXNet 1.9.1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(WORKLOADS)} (default: all)")
    args = parser.parse_args()
    unknown = sorted(set(args.workloads) - set(WORKLOADS))
    if unknown:
        parser.error(f"there is no workload {unknown[0]}")
    pythons = {"cynet": sys.executable, "torch": args.torch, "mxnet": args.mxnet}
    pythons = {package: os.path.abspath(p) for package, p in pythons.items() if p}
    lines = [
        f"{datetime.date.today()}, {machine()}; PyTorch 2.13 in its best mode, MXNet 1.9.1; turn "
        f"about, medians of {args.rounds} rounds. Milliseconds; `a + b` in microseconds; x = the "
        "other's time / cynet's.",
        "",
        "| work | cynet | PyTorch | MXNet | x PyTorch | x MXNet |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines[2:]))
    for name in args.workloads or WORKLOADS:
        lines.append(line(WORKLOADS[name], measure(name, pythons, args.rounds)))
        print(lines[-1], flush=True)
    if args.workloads:
        return
    import memory

    lines += ["", *engine_lines(), "", "Memory of bound executors, MB of 2**20 bytes:", ""]
    lines += memory.table(memory.MXNET)
    write(lines)


if __name__ == "__main__":
    main()
