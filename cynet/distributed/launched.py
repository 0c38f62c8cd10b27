"""Whether this process is one of several that a launcher has started, as its environment says."""

import os
import sys

# What launchers set in each process: Open MPI (PRRTE), MPICH and Intel MPI (Hydra), srun with PMI
# or PMIx, PALS. Each tells of a rank; none of them is in the environment of a batch script.
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MPI_RANKID", "PALS_RANKID")


def is_launched():
    """Whether a launcher of MPI has started this process, or its program uses MPI already."""
    if any(os.environ.get(name) for name in _RANKS):
        return True
    loaded = sys.modules.get("mpi4py.MPI")  # asked of, not imported: that starts MPI
    return loaded is not None and loaded.Is_initialized() and loaded.COMM_WORLD.size > 1


def is_own_launcher():
    """Whether ``python -m cynet.launch`` has started it."""
    return bool(os.environ.get("CYNET_LAUNCH_JOB"))
