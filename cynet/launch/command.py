"""The command line that starts all processes of a job."""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..base import config
from ..base.cores import usable_cores
from ..base.errors import ArgumentError, CynetError, MissingFileError, file_error, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

# prefixes of variables that are sent to other machines
_PASSED_PREFIXES = ("CYNET_", "MXNET_", "OMP_", "PYTHON")  # of environment variables


class Job(NamedTuple):  # what to start: size, hosts, command
    """The description of a job to start.

    size (int): How many processes.
    command (sequence of str): ``["train.py", "--lr", "0.1"]``, with or without ``python`` before
        it; or any program.
    hostfile: str or None
    slurm (bool): By `srun` instead of `mpiexec`.
    env: sequence of (name, value)
    threads (int or None): Of each process; None: the machine's cores, divided by its processes.
    more (str): Further arguments of the launcher.
    """

    size: int
    command: Sequence[str]
    hostfile: str | None = None
    slurm: bool = False
    env: Sequence[tuple[str, str]] = ()
    threads: int | None = None
    more: str = ""


def read_hosts(hostfile: str) -> list[str]:
    """Return the names of the machines in a host file."""
    try:
        lines = Path(hostfile).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise file_error(error, "read", hostfile) from None
    rows = [line.partition("#")[0].split() for line in lines]
    names = [row[0] for row in rows if row]
    if not names:
        raise ArgumentError(f"the host file {shown(hostfile)} names no machine")
    return names


def process_command(command: Sequence[str]) -> list[str]:
    """The command of each process: a Python script under `_rank`, or the program unchanged."""
    first, *others = command
    is_python = os.path.basename(first).startswith("python") and shutil.which(first) is not None
    if is_python:
        python, command = first, others
        while command and command[0].startswith("-") and command[0] not in ("-m", "-c"):
            return [first, *others]  # Python's own options are passed on
        if not command or command[0] == "-c":
            return [first, *others]
    elif first.endswith(".py") or first == "-m":
        python = sys.executable
        if first != "-m" and not os.path.isfile(first):
            raise MissingFileError(2, f"there is no script {first!r}", first)
    else:
        return list(command)
    return [python, "-m", "cynet.launch._rank", *command]


@functools.cache
def find_mpiexec() -> tuple[str, str]:
    """Find mpiexec: return its path, and ``'openmpi'``, ``'openmpi4'`` or ``'mpich'``."""
    beside = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    found = beside if os.access(beside, os.X_OK) else shutil.which("mpiexec")
    if found is None:
        raise CynetError(
            "there is no mpiexec: pip install 'cynet-mx[mpi]', or load the MPI of this site"
        )
    done = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    if "Open MPI" in text or "OpenRTE" in text or "prte" in text.lower():
        return found, "openmpi4" if ") 4." in text else "openmpi"
    return found, "mpich"


def command_line(job: Job) -> list[str]:
    """Return the command line, a list, that starts a job.

    Examples
    --------
    >>> from cynet.launch import Job, command_line
    >>> command_line(Job(2, ["hostname"], slurm=True, threads=1))[:3]
    ['srun', '-n', '2']
    """
    more = shlex.split(job.more)
    hosts = set() if job.hostfile is None else set(read_hosts(job.hostfile))
    if job.slurm:
        return [
            "srun",
            "-n",
            str(job.size),
            "--kill-on-bad-exit=0",
            *more,
            *process_command(job.command),
        ]
    path, kind = find_mpiexec()
    if kind == "mpich":
        out = [path, "-prepend-rank", "-n", str(job.size)]
        if hosts:
            out += ["-f", job.hostfile]
        out += [
            part for name, value in _rank_environment(job, hosts) for part in ("-genv", name, value)
        ]
        return [*out, *more, *process_command(job.command)]
    out = [path]
    if kind == "openmpi":  # a rank that dies is an error in the other ranks
        out += ["--with-ft", "ulfm", "--output", "tag"]
    else:
        out += ["--tag-output"]
    # blocking collectives of Open MPI's component `han` hang after a rank has died
    out += ["--oversubscribe", "--bind-to", "none", "--mca", "coll", "^han"]
    if hosts:
        out += ["--hostfile", job.hostfile]
    if hasattr(os, "getuid") and os.getuid() == 0:
        out += ["--allow-run-as-root"]
    out += [
        part for name, value in _rank_environment(job, hosts) for part in ("-x", f"{name}={value}")
    ]
    return [*out, "-n", str(job.size), *more, *process_command(job.command)]


def _rank_environment(job, hosts):
    """Return [(name, value)] of the environment variables to set in each process of a job."""
    given, here = dict(job.env), config.variables()
    out = {}
    threads = job.threads
    already_set = {"OMP_NUM_THREADS", "CYNET_NUM_THREADS"} & {*here, *given}
    if threads is None and not already_set:
        local = -(-job.size // max(1, len(hosts)))
        threads = max(1, usable_cores() // local)
    if threads is not None:
        out.update(dict.fromkeys(("OMP_NUM_THREADS", "CYNET_NUM_THREADS"), str(threads)))
        out["CYNET_CPU_WORKERS"] = str(max(2, threads))
    if hosts:
        out.update((k, v) for k, v in here.items() if k.startswith(_PASSED_PREFIXES))
    out.update(given)
    return list(out.items())
