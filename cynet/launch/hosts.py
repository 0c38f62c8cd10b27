"""Checks each machine of a host file before a job: it must be reachable and have all that its ranks
need. mpiexec itself only reports that a daemon has not started."""

from __future__ import annotations

import itertools
import os
import platform
import shlex
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from ..base import config
from ..base.errors import CynetError, shorten
from ..libinfo import __version__
from .command import process_command, read_hosts

if TYPE_CHECKING:
    from .command import Job

_HOST_SECONDS = 30.0  # seconds to wait for one machine
_MAX_PARALLEL_HOSTS = 32  # machines that are checked at a time
_MAX_MESSAGE = 300  # characters of a machine's message that are shown
_SSH_OPTIONS = ("-oBatchMode=yes", "-oConnectTimeout=10")  # no password prompt
_ANSWER_MARK = "cynet-host:"  # marks a machine's answer; a login may print other lines
# options of Open MPI 5, Open MPI 4 and MPICH for the remote shell
_REMOTE_SHELL_OPTIONS = ("plm_ssh_agent", "plm_rsh_agent", "-launcher-exec")  # they name ssh
# Python's version comes first: if cynet cannot be imported, another Python may be the reason.
_VERSION_SCRIPT = (
    f"import platform; print('{_ANSWER_MARK}python', platform.python_version(), flush=True);"
    f" import cynet; print('{_ANSWER_MARK}cynet', cynet.__version__)"
)


class HostError(CynetError):
    """A machine of the host file cannot run ranks of the job."""


def check_hosts(job: Job) -> list[str]:
    """Check all machines of a job's host file in parallel.

    Parameters
    ----------
    job : Job
        With a host file.

    Returns
    -------
    list of str
        The checked machines, without this one.

    Raises
    ------
    HostError
        Naming each unusable machine and the reason: ssh, the folder, the script, Python, cynet, or
        their versions.
    """
    names = [name for name in dict.fromkeys(read_hosts(job.hostfile)) if not _is_this_machine(name)]
    agent, look = remote_shell(job.more), _make_host_check(job)
    with ThreadPoolExecutor(_MAX_PARALLEL_HOSTS) as pool:
        problems = list(pool.map(lambda name: _find_host_problem(agent, name, look), names))
    found = [f"{name}: {each}" for name, each in zip(names, problems) if each is not None]
    if found:
        raise HostError("; ".join(found) + " (--no-check begins without this look)")
    return names


def remote_shell(more: str) -> list[str]:
    """Return the remote shell command that mpiexec uses for other machines, ssh by default."""
    words = shlex.split(more)
    for name, value in itertools.pairwise(words):
        if name in _REMOTE_SHELL_OPTIONS:
            return shlex.split(value)
    for name in ("PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_rsh_agent", "HYDRA_LAUNCHER_EXEC"):
        if value := config.variables().get(name):
            return shlex.split(value)
    return ["ssh"]


def _is_this_machine(name):
    return name in ("localhost", "127.0.0.1", "::1", socket.gethostname(), socket.getfqdn())


class HostCheck(NamedTuple):  # what to run on a machine, and the words it prints
    """The check of a machine: a shell line, the words of its output in order, and the command of
    the job."""

    text: str
    words: list[str]
    command: list[str]


def _make_host_check(job):
    command = process_command(job.command)
    steps = {"reached": "true", "folder": f"cd {shlex.quote(os.getcwd())}"}
    is_script = command[1:3] == ["-m", "cynet.launch._rank"]
    if is_script and command[3] != "-m":
        steps["script"] = f"test -f {shlex.quote(command[3])}"
    steps["program"] = f"command -v {shlex.quote(command[0])} > /dev/null"
    text = " && ".join(f"{step} && echo {_ANSWER_MARK}{word}" for word, step in steps.items())
    if is_script:
        path = config.variables().get("PYTHONPATH")  # PYTHONPATH of the ranks
        before = f"PYTHONPATH={shlex.quote(path)} " if path else ""
        text += f" && {before}{shlex.quote(command[0])} -c {shlex.quote(_VERSION_SCRIPT)}"
        steps |= {"python": "", "cynet": ""}
    return HostCheck(text, list(steps), command)


def _find_host_problem(agent, name, look):
    """Check one machine; return the reason why it cannot run ranks, or None."""
    more = _SSH_OPTIONS if os.path.basename(agent[0]) == "ssh" else ()
    line = [*agent, *more, name, look.text]
    try:
        done = subprocess.run(
            line,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_HOST_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_HOST_SECONDS:g} s"
    except OSError as error:
        return f"{agent[0]} cannot be run: {error.strerror}"
    rows = [
        each.partition(_ANSWER_MARK)[2].split()
        for each in done.stdout.splitlines()
        if _ANSWER_MARK in each
    ]
    answers = {row[0]: row[1:] for row in rows if row}
    last = [each for each in done.stderr.splitlines() if each.strip()][-1:]
    why = f": {shorten(last[0].strip(), _MAX_MESSAGE)}" if last else ""
    missing = next((each for each in look.words if each not in answers), None)
    command = look.command
    if missing == "reached":
        return f"{agent[0]} does not reach it{why}"
    if missing == "folder":
        return f"there is no folder {os.getcwd()}{why}"
    if missing == "script":
        return f"there is no script {command[3]} in {os.getcwd()}"
    if missing == "program":
        return f"there is no program {command[0]}"
    if missing == "python":
        return f"{command[0]} is no Python that runs{why}"
    if "python" not in look.words:
        return None
    here, there = platform.python_version(), answers["python"][0]
    if there.split(".")[:2] != here.split(".")[:2]:  # a micro version does not matter
        return f"its Python is {there}, here it is {here}"
    if missing == "cynet":
        return f"{command[0]} cannot import cynet{why}"
    there = answers["cynet"][0]
    return None if there == __version__ else f"its cynet is {there}, here it is {__version__}"
