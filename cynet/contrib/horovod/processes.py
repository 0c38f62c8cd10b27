"""Processes of a job, and features of this build, under the names of ``horovod.mxnet``."""

from __future__ import annotations

from typing import Any

from ...base.compat import optional
from ...distributed import world
from ...profiler import dump, set_config, set_state
from .sets import add_process_set, is_store_created, remove_all_process_sets, store


def init(comm: Any = None, process_sets: Any = None) -> None:
    """Connect this process to the others; a script calls it first.

    Parameters
    ----------
    comm : object, optional
        Part of Horovod's signature; not used: the launcher knows the other processes.
    process_sets : list of ProcessSet, optional
        Given to `add_process_set`, one after another.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.init()
    >>> hvd.rank(), hvd.size(), hvd.local_rank()
    (0, 1, 0)
    """
    store()
    for each in process_sets or ():
        add_process_set(each)


def shutdown() -> None:
    """Drop the KVStore; the process disconnects only when it ends.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.init()
    >>> hvd.shutdown()
    >>> hvd.is_initialized()
    False
    """
    remove_all_process_sets()


def is_initialized() -> bool:
    """Return whether `init` has been called, without a later `shutdown`.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.init()
    >>> hvd.is_initialized()
    True
    """
    return is_store_created()


def size() -> int:
    """Return the number of processes.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.size()  # this process was started alone
    1
    """
    return world().size


def rank() -> int:
    """Return the rank of this process, from 0.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.rank()  # this process was started alone
    0
    """
    return world().rank


def local_size() -> int:
    """Return the number of processes on this machine.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.local_size()  # this process was started alone
    1
    """
    return world().local_size


def local_rank() -> int:
    """Return the rank of this process on its machine, from 0, which is also the index of its GPU.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.local_rank()  # this process was started alone
    0
    """
    return world().local_rank


def cross_size() -> int:
    """Return the number of machines that run processes.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.cross_size()  # this process was started alone
    1
    """
    return -(-world().size // world().local_size)


def cross_rank() -> int:
    """Return the index of this process's machine, if all machines run equally many processes.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.cross_rank()  # this process was started alone
    0
    """
    return world().rank // world().local_size


def is_homogeneous() -> bool:
    """Return whether all machines run the same number of processes.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.is_homogeneous()
    True
    """
    return world().size % world().local_size == 0


def mpi_threads_supported() -> bool:
    """Return False: only one thread of cynet may call MPI.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.mpi_threads_supported()
    False
    """
    return False


def mpi_built(verbose: bool = False) -> bool:
    """Return whether processes can communicate over MPI: the extra ``mpi`` is installed.

    Parameters
    ----------
    verbose : bool
        Part of Horovod's signature; not used.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.mpi_built() == hvd.mpi_enabled()
    True
    """
    try:
        optional("mpi4py", "processes over MPI")
    except ImportError:
        return False
    return True


def mpi_enabled() -> bool:
    """Return the same as `mpi_built`: MPI is the only transport.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.mpi_enabled() in (True, False)
    True
    """
    return mpi_built()


def _make_not_built_query(name, what):
    def built(verbose: bool = False) -> bool:
        return False

    built.__name__ = built.__qualname__ = name
    built.__doc__ = f"""Whether processes talk over {what}: no, over MPI alone.

    Parameters
    ----------
    verbose : bool
        Part of Horovod's signature; not used.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.{name}()
    False
    """
    return built


nccl_built = _make_not_built_query("nccl_built", "NCCL")
gloo_built = _make_not_built_query("gloo_built", "Gloo")
gloo_enabled = _make_not_built_query("gloo_enabled", "Gloo")
ddl_built = _make_not_built_query("ddl_built", "DDL")
ccl_built = _make_not_built_query("ccl_built", "oneCCL")
cuda_built = _make_not_built_query("cuda_built", "CUDA-aware MPI")
rocm_built = _make_not_built_query("rocm_built", "ROCm")


def start_timeline(file_path: str, mark_cycles: bool = False) -> None:
    """Record this process's operators and sums over processes, with their waiting times, for
    `stop_timeline` to write.

    Parameters
    ----------
    file_path : str
        A file that chrome://tracing and Perfetto show; each process takes another one.
    mark_cycles : bool
        Part of Horovod's signature; not used.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.start_timeline("timeline.json")
    >>> hvd.stop_timeline()
    """
    set_config(filename=file_path, profile_all=True)
    set_state("run")


def stop_timeline() -> None:
    """Write the records since `start_timeline`, and stop recording.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.start_timeline("timeline.json")
    >>> hvd.stop_timeline()
    """
    set_state("stop")
    dump()
