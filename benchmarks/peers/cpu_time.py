"""Rows of run.py by the processor's time on one thread, for machines that others use, too.

``python benchmarks/peers/cpu_time.py --torch PYTHON --before PYTHON autoencoder gelu`` prints the
median and the slowest of fresh processes that take turns, of this build, PyTorch in its best mode,
and the Python of a build from before; the time of a process is that of its fastest step.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
SECONDS = 1.5
ONE = dict.fromkeys(
    ("CYNET_NUM_THREADS", "CYNET_CPU_WORKERS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)


def least_time(function, number=1, repeat=5, warm_up=3):
    """The least of the processor's seconds of one call, at least `repeat` runs of `number`."""
    for _ in range(warm_up):
        function()
    times, end = [], time.perf_counter() + SECONDS
    while len(times) < repeat or time.perf_counter() < end:
        start = time.process_time()
        for _ in range(number):
            function()
        times.append((time.process_time() - start) / number)
    return min(times)


def run(package, *words):
    """The result of the worker of `package`, by `least_time`."""
    sys.path.insert(0, str(HERE.parent))
    importlib.import_module("harness").median_time = least_time
    sys.argv = ["worker", *words]
    if package == "torch":
        importlib.import_module("torch").set_num_threads(1)
        return importlib.import_module("worker_torch").measure(words[0])
    found = importlib.import_module("worker_mx").measure(importlib.import_module(package), words[0])
    return {"mode": None, "seconds": found}


def main():
    """A line for each workload, or one run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--before", metavar="PYTHON", help="the Python of another build of cynet")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("words", nargs="+", help="workloads of run.py")
    args = parser.parse_args()
    if args.run:
        print(json.dumps(run(args.run, *args.words)))
        return
    pythons = {"now": sys.executable, "before": args.before, "torch": args.torch}
    for workload in args.words:
        found, mode = {}, []
        for _ in range(args.rounds):
            for name, python in pythons.items():
                if not python:
                    continue
                package, words = ("torch", mode) if name == "torch" else ("cynet", [])
                done = subprocess.run(
                    [python, "-W", "ignore", __file__, "--run", package, workload, *words],
                    check=True,
                    stdout=subprocess.PIPE,
                    text=True,
                    env={**os.environ, **ONE},
                )
                told = json.loads(done.stdout.splitlines()[-1])
                mode = [told["mode"]] if name == "torch" else mode
                found.setdefault(name, []).append(told["seconds"])
        middle = {k: statistics.median(v) for k, v in found.items()}
        now = middle["now"]
        cells = (
            f"{k} {middle[k] * 1e3:.4g} ms (to {max(v) * 1e3:.4g}), x {middle[k] / now:.2f}"
            for k, v in found.items()
        )
        print(f"{workload}: {'; '.join(cells)} {' '.join(mode)}", flush=True)


if __name__ == "__main__":
    main()
