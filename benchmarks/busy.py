"""The rows of benchmarks/peers beside a process that keeps one core busy.

``python benchmarks/busy.py [--torch PYTHON] [--mxnet PYTHON] [workload ...]`` runs each workload in
cynet as it is, in cynet with one thread, in PyTorch and in MXNet, one after the other in each
round, while another process counts on one core. A ratio is the other's time over cynet's of the
same round; the median over the rounds is printed. ``--busy 0`` measures the quiet machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

PEERS = Path(__file__).parent / "peers"
sys.path.insert(0, str(PEERS))
from workloads import WORKLOADS  # noqa: E402

DEFAULT = ("mlp", "lenet", "resnet20", "fit_epoch", "small_add", "add", "tanh", "sum", "softmax")
HEAD = (
    "| work | cynet | one thread | PyTorch | MXNet | x one thread | x PyTorch | x MXNet |",
    "|---|---|---|---|---|---|---|---|",
)


@contextmanager
def busy(count):
    """So many processes that each keep a core busy, for the time of a with block."""
    processes = [
        subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(count)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def seconds(python, worker, *args, **environment):
    """What a worker of benchmarks/peers prints for a workload, or None with its error on stderr."""
    command = [python, "-W", "ignore", str(PEERS / worker), *args]
    env = {**os.environ, **environment}
    done = subprocess.run(command, cwd=PEERS, env=env, capture_output=True, text=True)
    try:
        found = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        sys.stderr.write(f"{' '.join(command)} failed:\n{done.stderr[-1500:]}\n")
        return None
    return found["seconds"] if isinstance(found, dict) else found


def measure(name, torch=None, mxnet=None, rounds=3):
    """Times of one workload: by column, a list of one number (or None) a round."""
    ways = {
        "cynet": lambda: seconds(sys.executable, "worker_mx.py", "cynet", name),
        "one": lambda: seconds(
            sys.executable, "worker_mx.py", "cynet", name, CYNET_NUM_THREADS="1"
        ),
    }
    if torch:
        ways["torch"] = lambda: seconds(torch, "worker_torch.py", name)
    if mxnet:
        ways["mxnet"] = lambda: seconds(mxnet, "worker_mx.py", "mxnet", name)
    times = {way: [] for way in ways}
    for _ in range(rounds):
        for way, run in ways.items():
            times[way].append(run())
    return times


def row(workload, times):
    """A line of the table of times."""
    scale = 1e6 if workload.unit == "us" else 1e3
    cells = [workload.title]
    for way in ("cynet", "one", "torch", "mxnet"):
        found = [t for t in times.get(way, ()) if t]
        cells.append(f"{statistics.median(found) * scale:.3g}" if found else "-")
    for way in ("one", "torch", "mxnet"):
        ratios = [
            theirs / ours
            for theirs, ours in zip(times.get(way, ()), times["cynet"])
            if theirs and ours
        ]
        cells.append(f"{statistics.median(ratios):.3g}" if ratios else "-")
    return f"| {' | '.join(cells)} |"


def main():
    """Measure what is asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", metavar="PYTHON", help="a Python with PyTorch")
    parser.add_argument("--mxnet", metavar="PYTHON", help="a Python with MXNet 1.9.1")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--busy", type=int, default=1, help="processes beside it (default 1)")
    parser.add_argument("workloads", nargs="*", help=f"of {', '.join(WORKLOADS)}")
    args = parser.parse_args()
    unknown = sorted(set(args.workloads) - {*WORKLOADS})
    if unknown:
        parser.error(f"there is no workload {unknown[0]}")
    if args.rounds < 1 or args.busy < 0:
        parser.error("--rounds is at least 1, --busy at least 0")
    pythons = [p and os.path.abspath(p) for p in (args.torch, args.mxnet)]
    print("\n".join(HEAD), flush=True)
    with busy(args.busy):
        for name in args.workloads or DEFAULT:
            print(row(WORKLOADS[name], measure(name, *pythons, args.rounds)), flush=True)


if __name__ == "__main__":
    main()
