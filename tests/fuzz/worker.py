"""Runs numbered cases in a process of its own, with limits, and says which one crashed or hung."""

import argparse
import importlib
import os
import resource
import select
import subprocess
import sys
import time

import numpy as np

SECONDS = 10  # for one case: of processor time, and six times that by the clock
MEMORY = 3 << 30  # beyond what the process has when it begins, bytes of address space


class Fault(Exception):
    """A case went wrong; the message says how."""


def run_cases(module, seed, count, progress=False, seconds=SECONDS):
    """Run the cases 0 to `count` - 1 of `module` (it has ``prepare(seed)``); the faults, as lines.

    A worker that dies or takes longer than `seconds` of processor time, or six times that by the
    clock, for a case is replaced by one that goes on behind that case.
    """
    faults, number, began = [], 0, time.monotonic()
    while number < count:
        command = [sys.executable, "-m", "tests.fuzz.worker", module]
        command += [str(seed), str(number), str(count)]
        with open(os.devnull) as nothing:
            worker = subprocess.Popen(
                command, stdin=nothing, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
        number, died = _follow(worker, number, seconds, faults, count, progress)
        if died:
            _note(f"case {number}, seed {seed}: {died}", faults, progress)
            number += 1
    if progress:
        print(f"{count} cases in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return faults


def command_line(module, doc, show):
    """What ``python -m module`` does with its arguments; the exit status. `show(seed, number)` runs
    one case here."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000, help="how many cases (1000)")
    parser.add_argument("--seed", type=int, default=None, help="repeat a run (default: a new one)")
    parser.add_argument("--show", type=int, help="run this case of the run here")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else np.random.SeedSequence().entropy % 2**31
    if options.show is not None:
        show(seed, options.show)
        return 0
    faults = run_cases(module, seed, options.cases, progress=True)
    print(f"{options.cases} cases, seed {seed}: {len(faults)} faults")
    return 1 if faults else 0


def _note(fault, faults, progress):
    """Keep a fault, and show it at once where someone watches: a long run may be interrupted."""
    faults.append(fault)
    if progress:
        print(fault, file=sys.stderr, flush=True)


def _processor_time(pid):
    """Seconds of processor time that a process has used."""
    with open(f"/proc/{pid}/stat") as f:
        used = f.read().rpartition(")")[2].split()[11:13]
    return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


def _follow(worker, number, seconds, faults, count, progress):
    """Read what `worker` reports until it ends: (the case it ended in, how it died or None)."""
    reported, rest = worker.stdout.fileno(), b""
    errors, begun = [], False
    limit = seconds + 60  # the first case waits for imports
    end, used = time.monotonic() + limit, 0.0
    last = end + 5 * limit
    while True:
        left = max(0, end - time.monotonic())
        ready, _, _ = select.select([reported, worker.stderr.fileno()], [], [], left)
        if time.monotonic() >= end and reported not in ready:  # whatever else it writes
            took = _processor_time(worker.pid) - used
            if took < limit and time.monotonic() < last:  # a busy machine
                end = min(last, time.monotonic() + max(1, limit - took))
                continue
            worker.kill()
            worker.communicate()
            return number, f"no end after {limit} s"
        if worker.stderr.fileno() in ready:
            errors = (errors + [os.read(worker.stderr.fileno(), 65536)])[-20:]
        if reported not in ready:
            continue
        got = os.read(reported, 65536)
        if not got:
            break
        *lines, rest = (rest + got).split(b"\n")
        for line in lines:
            kind, _, text = line.decode(errors="replace").partition(" ")
            if kind == "case":
                number, limit, begun = int(text), seconds, True
                end, used = time.monotonic() + limit, _processor_time(worker.pid)
                last = end + 5 * limit
                if progress and number % 1000 == 0:
                    print(f"{number} of {count}", file=sys.stderr, flush=True)
            elif kind == "fault":
                _note(f"case {number}: {text}", faults, progress)
    status = worker.wait()
    errors = b"".join([*errors, worker.stderr.read() or b""]).decode(errors="replace")
    worker.stdout.close()
    worker.stderr.close()
    if status == 0:
        return count, None
    if not begun:
        raise RuntimeError(f"the worker of {worker.args[3]} does not begin: {errors[-3000:]}")
    return number, f"ended with status {status}: {errors[-1500:]}"


def main(module, seed, first, count):
    """The worker: reports each case before it runs, and each fault."""
    report = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a case prints does not disturb the report
    run = importlib.import_module(module).prepare(seed)
    if "ASAN_OPTIONS" not in os.environ:  # its shadow memory needs all addresses
        with open("/proc/self/statm") as f:
            used = int(f.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in range(first, count):
        report.write(f"case {number}\n")
        try:
            run(number)
        except Fault as fault:
            report.write("fault " + str(fault).replace("\n", " ") + "\n")


if __name__ == "__main__":
    from tests.fuzz import worker  # so that Fault is the class that the cases raise

    worker.main(sys.argv[1], *map(int, sys.argv[2:]))
