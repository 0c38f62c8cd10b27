"""Detects, by environment variables, whether a launcher started this process as one of several."""

import contextlib
import json
import os
import socket
import sys
import time

from ..base import config
from ..base.kinds import read_json

# Variables that launchers set in each process: Open MPI (PRRTE), MPICH and Intel MPI (Hydra), srun
# with PMI or PMIx, PALS. Each gives a rank; none of them is set in a batch script.
_RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MPI_RANKID", "PALS_RANKID")


def is_launched():
    """Return whether a launcher of MPI started this process, or its program uses MPI already."""
    if any(config.variables().get(name) for name in _RANK_VARIABLES):
        return True
    loaded = sys.modules.get("mpi4py.MPI")  # not imported: importing mpi4py.MPI starts MPI
    return loaded is not None and loaded.Is_initialized() and loaded.COMM_WORLD.size > 1


def own_rank():
    """The rank of this process according to its launcher, or None."""
    given = config.variables()
    return next(
        (int(given[name]) for name in _RANK_VARIABLES if given.get(name, "").isdecimal()), None
    )


def report_failure(rank, host, text, dead=(), is_own=True):
    """Report a failure to ``python -m cynet.launch``, if that runs on this machine.

    rank, host (int, str): Of this process.
    text: str
    dead (iterable of int): Ranks that are known to have died.
    is_own (bool): This rank has failed, and not another one.
    """
    row = {"rank": rank, "host": host, "text": text, "dead": sorted(dead), "is_own": is_own}
    _write_job_file(f"{rank}.json", row)


def report_early_end(code, how):
    """Report that this process's script ended before it joined the other ranks."""
    rank = own_rank()
    row = {"rank": rank, "code": code, "how": how}
    _write_job_file(f"{rank}.ended", row)
    if code:
        report_failure(rank, socket.gethostname(), f"ended before it joined the others: {how}")


def early_ended_ranks():
    """Return [(rank, how it ended)] of the ranks on this machine that will never join."""
    folder, out = config.get("CYNET_LAUNCH_JOB"), []
    with contextlib.suppress(OSError):
        for each in os.scandir(folder or os.devnull):
            if each.name.endswith(".ended"):
                with contextlib.suppress(OSError, ValueError), open(each.path) as file:
                    row = read_json(file.read())
                    out.append((row["rank"], row["how"]))
    return sorted(out)


def _write_job_file(name, row):
    folder = config.get("CYNET_LAUNCH_JOB")
    if not folder:
        return
    row["time"] = time.time()
    path = os.path.join(folder, name)
    with contextlib.suppress(OSError):
        with open(f"{path}.new", "w", encoding="utf-8") as file:
            json.dump(row, file)
        os.replace(f"{path}.new", path)
