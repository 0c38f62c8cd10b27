"""Sets of processes, under the names of ``horovod.mxnet``."""

from __future__ import annotations

from collections.abc import Sequence

from ... import kvstore as kvs
from ...base.errors import ArgumentError, ArgumentTypeError, StateError, shown
from ...base.guard import guarded
from ...distributed import Group, World, group, world

# the KVStore of all processes; the process sets that were added, by id
_state = {"store": None, "sets": {}}  # KVStore of all processes; sets by id


@guarded
class ProcessSet:
    """A subset of the processes, for collective calls among these alone.

    `add_process_set` or `init`, called by all processes, makes it usable.

    Parameters
    ----------
    ranks_or_comm : sequence of int
        Numbers of the processes.

    Attributes
    ----------
    ranks : list of int or None
        Those numbers; None for `global_process_set`, which is all processes.
    process_set_id : int or None
        Number of the set, 0 for all processes; None before it is added and after it is removed.

    Raises
    ------
    ArgumentTypeError
        `ranks_or_comm` is no sequence.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> some = hvd.add_process_set(hvd.ProcessSet([0]))
    >>> some.size(), some.rank(), some.included(), some.process_set_id > 0
    (1, 0, True, True)
    >>> hvd.remove_process_set(some)
    True
    """

    def __init__(self, ranks_or_comm: Sequence[int]) -> None:
        if not isinstance(ranks_or_comm, Sequence | range) or isinstance(ranks_or_comm, str):
            raise ArgumentTypeError(
                f"ProcessSet takes numbers of processes, got {shown(ranks_or_comm)}"
            )
        self.ranks = list(ranks_or_comm)
        self.process_set_id = self._group = self._store = None

    def __repr__(self) -> str:
        return f"ProcessSet(process_set_id={self.process_set_id}, ranks={self.ranks})"

    def size(self) -> int:
        """Return the number of processes in the set.

        Examples
        --------
        >>> import cynet.contrib.horovod as hvd
        >>> hvd.global_process_set.size()  # this process was started alone
        1
        """
        return world_of(self).size

    def rank(self) -> int:
        """The rank of this process in the set.

        Raises
        ------
        StateError
            It is not in the set.

        Examples
        --------
        >>> import cynet.contrib.horovod as hvd
        >>> hvd.global_process_set.rank()  # this process was started alone
        0
        """
        if not self.included():
            raise StateError(f"process {world().rank} is not in the set of {self.ranks}")
        return world_of(self).rank

    def included(self) -> bool:
        """Return whether this process is in the set.

        Examples
        --------
        >>> import cynet.contrib.horovod as hvd
        >>> hvd.global_process_set.included()
        True
        """
        return world_of(self).rank >= 0


def _make_global_set():
    found = object.__new__(ProcessSet)
    found.ranks = found._group = found._store = None
    found.process_set_id = 0
    return found


global_process_set = _make_global_set()


@guarded
def add_process_set(process_set: ProcessSet | Sequence[int]) -> ProcessSet:
    """Register a process set. All processes call this with the same ranks; it waits for all.

    Parameters
    ----------
    process_set : ProcessSet or sequence of int
        The set, or numbers of its processes.

    Returns
    -------
    ProcessSet
        That set, with its number.

    Raises
    ------
    ArgumentError
        A set of these processes is there, or there are no such processes.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> some = hvd.add_process_set([0])
    >>> hvd.allreduce(mx.nd.ones(2), process_set=some).asnumpy().tolist()
    [1.0, 1.0]
    >>> hvd.remove_process_set(some)
    True
    """
    given = process_set if isinstance(process_set, ProcessSet) else ProcessSet(process_set)
    if given.process_set_id is not None:
        raise ArgumentError(f"add_process_set: {given!r} is there already")
    sets = _state["sets"]
    for each in sets.values():
        if sorted(each.ranks) == sorted(given.ranks):
            raise ArgumentError(f"add_process_set: {each!r} has these processes already")
    given._group = group(given.ranks)
    given.process_set_id = max(sets, default=0) + 1
    sets[given.process_set_id] = given
    return given


@guarded
def remove_process_set(process_set: ProcessSet) -> bool:
    """Unregister a process set; all processes call this.

    Parameters
    ----------
    process_set : ProcessSet
        One that was added.

    Returns
    -------
    bool
        Whether it was there; `global_process_set` stays.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.remove_process_set(hvd.global_process_set)
    False
    """
    if _state["sets"].pop(process_set.process_set_id, None) is None:
        return False
    process_set.process_set_id = process_set._group = process_set._store = None
    return True


@guarded
def barrier(process_set: ProcessSet | None = None) -> None:
    """Wait until all processes have called `barrier`.

    Examples
    --------
    >>> import cynet.contrib.horovod as hvd
    >>> hvd.barrier()
    """
    world_of(process_set).barrier()


def group_of(process_set: ProcessSet | None) -> Group | None:
    """Return the Group of a set's ranks, or None for all ranks."""
    if process_set is None:
        return None
    if not isinstance(process_set, ProcessSet):
        raise ArgumentTypeError(f"process_set is a ProcessSet, got {shown(process_set)}")
    if process_set.process_set_id is None:
        raise StateError(
            f"{process_set!r} is not there: all processes give it to add_process_set() or init()"
        )
    return process_set._group


def world_of(process_set: ProcessSet | None) -> World:
    """Return the World or Group whose ranks form a set."""
    return group_of(process_set) or world()


def store(process_set: ProcessSet | None = None) -> kvs.KVStore:
    """Return the KVStore of a set, or of all processes; it is made at the first call."""
    some = group_of(process_set)
    if some is None:
        if _state["store"] is None:
            _state["store"] = kvs.create("dist_sync")
        return _state["store"]
    if process_set._store is None:
        process_set._store = kvs.create("dist_sync", some)
    return process_set._store


def is_store_created() -> bool:
    """Return whether the store of all processes was created."""
    return _state["store"] is not None


def remove_all_process_sets() -> None:
    """Remove all process sets and KVStores."""
    for each in [*_state["sets"].values()]:
        remove_process_set(each)
    _state["store"] = None
