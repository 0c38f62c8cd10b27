"""Is a workload equally fast in every process? Its median step in many of them, one by one.

``python benchmarks/processes.py [--processes 40] [--set NAME=VALUE ...] [workload ...]`` starts as
many processes for each workload, with the environment as it is and, in turns, with each --set.
It prints the fastest, the median and the slowest process, and ends with 1 where the slowest takes
more than 1.25 times the fastest (--limit). On a quiet machine; ``--busy 1`` keeps a core busy.

``--cores`` also measures, before and after each process, how long a cache line takes from one core
to the other and back (cores.c, Linux, a C compiler), and gives near and far cores a row each: a
virtual machine's cores may be moved to where they share no cache, and back, every half minute.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

from busy import busy, seconds
from workloads import WORKLOADS

DEFAULT = ("lenet", "gluon_lenet", "lstm", "mlp", "resnet20")
HEAD = (
    "| work | setting | processes | fastest ms | median | slowest | slowest / fastest |",
    "|---" * 7 + "|",
)
FAR_NS = 200  # there and back: 80 to 150 through a shared cache, 400 through memory


class Cores:
    """The distance of the first two cores."""

    def __init__(self, folder):
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cores.c")
        self.program = os.path.join(folder, "cores")
        command = [os.environ.get("CC", "cc"), "-O2", "-pthread", source, "-o", self.program]
        subprocess.run(command, check=True)

    def distance(self):
        """``near`` or ``far``."""
        found = subprocess.run([self.program], check=True, capture_output=True, text=True)
        return "far" if int(found.stdout) > FAR_NS else "near"


def measure(name, settings, processes, cores=None):
    """Milliseconds of a step by (setting, distance of the cores), one for each process.

    The settings take turns. Without ``cores`` the distance is "".
    """
    found = {}
    for _ in range(processes):
        for setting in settings:
            environment = dict([setting.split("=", 1)] if setting else [])
            before = cores.distance() if cores else ""
            step = seconds(sys.executable, "worker_mx.py", "cynet", name, **environment)
            after = cores.distance() if cores else ""
            distance = before if before == after else "moved"
            found.setdefault((setting, distance), []).append(step * 1e3)
    return found


def main():
    """Measure what is asked for, print the table; the status says whether the limit holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=40)
    parser.add_argument("--limit", type=float, default=1.25)
    parser.add_argument("--busy", type=int, default=0, help="processes beside it (default 0)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--cores", action="store_true", help="near and far cores apart")
    parser.add_argument("workloads", nargs="*", metavar="workload")
    args = parser.parse_args()
    unknown = sorted(set(args.workloads) - {*WORKLOADS})
    if unknown or not all("=" in each for each in args.set):
        parser.error(f"there is no workload {unknown[0]}" if unknown else "--set takes NAME=VALUE")
    print("\n".join(HEAD), flush=True)
    holds = True
    with busy(args.busy), tempfile.TemporaryDirectory() as folder:
        cores = Cores(folder) if args.cores else None
        for name in args.workloads or DEFAULT:
            found = measure(name, ["", *args.set], args.processes, cores)
            for (setting, distance), steps in sorted(found.items()):
                least, maximum = min(steps), max(steps)
                cells = [
                    name,
                    " ".join(filter(None, (setting, distance))) or "-",
                    str(len(steps)),
                    *(f"{s:.2f}" for s in (least, statistics.median(steps), maximum)),
                ]
                print(f"| {' | '.join(cells)} | {maximum / least:.2f} |", flush=True)
                holds = holds and (distance == "moved" or maximum <= args.limit * least)
    sys.exit(not holds)


if __name__ == "__main__":
    main()
