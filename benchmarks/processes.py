"""Is a workload equally fast in every process? Its median step in many of them, one by one.

``python benchmarks/processes.py [--processes 40] [--set NAME=VALUE ...] [workload ...]`` starts as
many processes for each workload, with the environment as it is and, in turns, with each --set.
It prints the fastest, the median and the slowest process, and ends with 1 where the slowest takes
more than 1.25 times the fastest (--limit). On a quiet machine; ``--busy 1`` keeps a core busy.
"""

import argparse
import statistics
import sys

from busy import busy, seconds
from workloads import WORKLOADS

DEFAULT = ("lenet", "gluon_lenet", "lstm", "mlp", "resnet20")
HEAD = ("| work | setting | fastest ms | median | slowest | slowest / fastest |", "|---" * 6 + "|")


def measure(name, settings, processes):
    """Milliseconds of a step by setting, one for each process; the settings take turns."""
    found = {setting: [] for setting in settings}
    for _ in range(processes):
        for setting in settings:
            environment = dict([setting.split("=", 1)] if setting else [])
            step = seconds(sys.executable, "worker_mx.py", "cynet", name, **environment)
            found[setting].append(step * 1e3)
    return found


def main():
    """Measure what is asked for, print the table; the status says whether the limit holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=40)
    parser.add_argument("--limit", type=float, default=1.25)
    parser.add_argument("--busy", type=int, default=0, help="processes beside it (default 0)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("workloads", nargs="*", metavar="workload")
    args = parser.parse_args()
    unknown = sorted(set(args.workloads) - {*WORKLOADS})
    if unknown or not all("=" in each for each in args.set):
        parser.error(f"there is no workload {unknown[0]}" if unknown else "--set takes NAME=VALUE")
    print("\n".join(HEAD), flush=True)
    holds = True
    with busy(args.busy):
        for name in args.workloads or DEFAULT:
            for setting, steps in measure(name, ["", *args.set], args.processes).items():
                least, maximum = min(steps), max(steps)
                cells = [
                    name,
                    setting or "-",
                    *(f"{s:.2f}" for s in (least, statistics.median(steps), maximum)),
                ]
                print(f"| {' | '.join(cells)} | {maximum / least:.2f} |", flush=True)
                holds = holds and maximum <= args.limit * least
    sys.exit(not holds)


if __name__ == "__main__":
    main()
