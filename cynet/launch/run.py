"""Runs a job: starts it, forwards outputs and signals, ends all processes after a failure."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ..base import config
from ..base.kinds import read_json
from .command import command_line
from .guard import Guard
from .hosts import check_hosts
from .outputs import OutputForwarder, print_message
from .sweep import descendant_processes, end_processes, remove_files

_POLL_SECONDS = 0.1  # seconds between two checks of a job
_STOP_SECONDS = 5.0  # seconds that a job has to end after a signal


class RunningJob:  # a started mpiexec, until it ends
    """A running job.

    job: Job
    outputs: OutputForwarder
    grace (float): Seconds from the first failure until what is left is killed.
    attempt (int): How often the job was started before.
    signals (list of int): The received signals; a handler may add more at any time.
    guard (Guard): Gets the job's folder.
    """

    def __init__(self, job, outputs, grace, attempt, signals, guard):
        self._grace = grace
        self._folder = tempfile.mkdtemp(prefix="cynet-job-")
        guard.add_job_folder(self._folder)
        self._began = time.time()
        env = {**config.variables(), "CYNET_LAUNCH_JOB": self._folder}
        env["CYNET_LAUNCH_ATTEMPT"] = str(attempt)
        env.update(job.env)
        self._process = subprocess.Popen(
            command_line(job), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env
        )
        self._threads = [
            outputs.follow_pipe(self._process.stdout, sys.stdout),
            outputs.follow_pipe(self._process.stderr, sys.stderr),
        ]
        self._signals = signals

    def wait(self):
        """Wait until all processes have ended; return (exit code, [reports of failed ranks])."""
        deadline, below, passed = None, {}, 0
        while self._process.poll() is None:
            time.sleep(_POLL_SECONDS)
            below.update(descendant_processes(self._process.pid))
            if len(self._signals) > passed:  # forward the signal to the job
                passed = len(self._signals)
                with contextlib.suppress(OSError):
                    self._process.send_signal(self._signals[-1])
                deadline = time.monotonic() + _STOP_SECONDS
            elif deadline is None and self._read_rank_reports():
                deadline = time.monotonic() + self._grace
            if deadline is not None and time.monotonic() > deadline:
                if not passed:
                    print_message(f"ends what is left {self._grace:g} s after the first failure")
                end_processes(descendant_processes(self._process.pid))
                end_processes({self._process.pid: None})
                break
        code = self._process.wait()
        end_processes(below, 1.0)  # a stopped process outlives its launcher
        for each in self._threads:
            each.join(2)
        reports = self._read_rank_reports()
        shutil.rmtree(self._folder, ignore_errors=True)
        remove_files(self._began)
        return code, reports

    def _read_rank_reports(self):
        rows = []
        for each in os.scandir(self._folder):
            if each.name.endswith(".json"):
                with contextlib.suppress(OSError, ValueError):
                    rows.append(read_json(Path(each.path).read_text(encoding="utf-8")))
        return sorted(rows, key=lambda row: row["time"])


def run(options, job, notes):
    """Run the launcher with parsed options; return the exit code."""
    if options.dry_run:
        print(shlex.join(command_line(job)))
        return 0
    for each in notes:
        print_message(each)
    if job.hostfile is not None and not (job.slurm or options.no_check):
        check_hosts(job)
    outputs = OutputForwarder(not options.no_prefix, options.log_dir)
    try:
        return _run_guarded(options, job, outputs)
    finally:
        outputs.close()


def _run_guarded(options, job, outputs):
    signals = []
    before = {
        number: signal.signal(number, lambda number, _: signals.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        with Guard() as guard:
            return _run_with_restarts(options, job, outputs, signals, guard)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run_with_restarts(options, job, outputs, signals, guard):
    began = restarts = 0
    while True:
        running = RunningJob(job, outputs, options.grace, began, signals, guard)
        code, reports = running.wait()
        if signals:
            name = signal.Signals(signals[0]).name
            print_message(
                f"{name}: all processes have ended; they were killed, so no script saw it"
            )
            return 128 + signals[0]
        if code == 0:
            return 0
        if code < 0:
            code = 128 - code
        print_message(f"the job has failed with code {code}: {_failure_report(reports)}")
        lost = {rank for row in reports for rank in row["dead"]}
        left = job.size - len(lost)
        if options.elastic and lost and left >= options.min_workers:
            print_message(f"goes on with {left} of {job.size} processes")
            job = job._replace(size=left)
        elif restarts < options.restarts:
            restarts += 1
        else:
            return code
        began += 1
        print_message(f"begins again ({began})")


def _failure_report(reports):
    """Describe a failed job by the first report of a rank that failed by itself, else the first."""
    row = next((row for row in reports if row["is_own"]), reports[0] if reports else None)
    if row is None:
        return "a process has died, was killed, or ended before it joined the others"
    return f"rank {row['rank']} ({row['host']}): {row['text']}" if row["is_own"] else row["text"]
