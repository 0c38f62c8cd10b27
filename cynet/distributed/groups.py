"""Groups: subsets of the ranks that compute together without the others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..base.errors import ArgumentError, StateError, shown
from ..base.guard import guarded
from .communication import Communication
from .negotiation import Negotiation
from .requests import Request
from .world import World, world

if TYPE_CHECKING:
    from collections.abc import Sequence

# requests of one group have ids below this; the next group's ids begin here
_IDS_PER_GROUP = 1 << 32  # request ids that each group has for itself


class GroupCommunication(Communication):
    """The communication between the ranks of one group; it shares the thread of the World.

    Parameters
    ----------
    whole : Communication
        That of all ranks.
    ranks : list of int
        Of the group, in its order; this one is among them.
    number : int
        Of the group, from 1, the same on all ranks.
    comm : Comm
        The library's, of these ranks.
    """

    def __init__(self, whole, ranks, number, comm):
        self._begins = number * _IDS_PER_GROUP
        super().__init__(whole._stall)
        self._whole, self._ranks = whole, ranks
        self._mpi, self._own = whole._mpi, whole._own
        self.rank, self.size = comm.rank, comm.size
        self.hosts = [whole.hosts[rank] for rank in ranks]
        self._control, self._data = comm, comm.Dup()
        self._comms = self._control, self._data
        for each in self._comms:
            each.Set_errhandler(self._mpi.ERRORS_RETURN)
        self._negotiation = Negotiation(self._mpi, self._control)

    def hand_in(self, request, reads=(), writes=(), in_order=True):
        if self._whole._leaving:
            raise StateError("this process is at its end and no longer talks to other ranks")
        return super().hand_in(request, reads, writes, in_order)

    def rank_label(self, rank):
        """The name of a rank of this group in messages: its rank among all processes."""
        return self._whole.rank_label(self._ranks[rank])

    @property
    def _waits_for_agreement(self):
        """True if this rank waits for others of the group to agree."""
        return bool(self._negotiation.is_open or self._ready) and not (self._flying or self._queue)

    def _fail_requests(self, error, reason=None, tell=False):
        # other ranks do not see the error themselves
        self._whole._fail_requests(error, reason, tell or reason is None)


@guarded
class Group(World):
    """Some of the ranks, which compute together; `group` creates it.

    It has the calls of `World`, which its members make, all in the same order; the others make
    other ones meanwhile. A member that fails ends all ranks, those of other groups as well.

    Parameters
    ----------
    whole : World
        All ranks.
    ranks : list of int
        Those of the group.
    communication : GroupCommunication or None
        None on other ranks, and in a process that trains alone.

    Attributes
    ----------
    ranks : list of int
        Numbers of the members among all ranks.
    rank, size : int
        Number of this process in the group, -1 where it is no member; how many members there are.

    Examples
    --------
    >>> some = mx.distributed.group([0])
    >>> some.rank, some.size, some.ranks
    (0, 1, [0])
    """

    def __init__(
        self, whole: World, ranks: Sequence[int], communication: Communication | None
    ) -> None:
        self._whole, self._communication = whole, communication
        self.pid, self.ranks = os.getpid(), list(ranks)
        self.size, self.hosts = len(self.ranks), [whole.hosts[rank] for rank in self.ranks]
        self.rank = self.ranks.index(whole.rank) if whole.rank in self.ranks else -1
        self.local_rank, self.local_size = -1, 0
        if self.is_member:
            self._set_local_rank()

    def __repr__(self) -> str:
        return f"<group of ranks {self.ranks} as rank {self._whole.rank} sees it>"

    @property
    def is_member(self) -> bool:
        """True if this process is a member of the group.

        Examples
        --------
        >>> mx.distributed.group([0]).is_member
        True
        """
        return self.rank >= 0

    def _require_member(self):
        if not self.is_member:
            raise StateError(
                f"rank {self._whole.rank} is not of the group of ranks {self.ranks}, whose members"
                " alone call it"
            )

    def _open_communication(self):
        self._require_member()
        return super()._open_communication()

    @property
    def _has_one_rank(self):
        self._require_member()
        return self.size == 1

    def check(self) -> None:
        """Raise the failure of the ranks, if there is one, or an error if this rank is no
        member."""
        self._require_member()
        self._whole.check()

    @property
    def has_failed(self) -> bool:
        """True if any rank has failed, in the group or outside of it."""
        return self._whole.has_failed

    def count_step(self) -> None:
        self._whole.count_step()

    @property
    def times(self) -> tuple[int, float, float]:
        """Times of this process in all groups: see `World.times`."""
        return self._whole.times

    def fail(self, text: str) -> None:
        """Report to all other ranks that this one has failed."""
        self._whole.fail(text)


def group(ranks: Sequence[int]) -> Group:
    """Create a group of some of the ranks. All ranks must call this with the same `ranks`.

    Parameters
    ----------
    ranks : sequence of int
        The members' ranks, each once; their order is the group's order.

    Returns
    -------
    Group
        On all ranks; those that are no members have it, too, and make none of its calls.

    Raises
    ------
    ArgumentError
        Where that are no numbers of ranks, or one of them twice.

    Examples
    --------
    >>> evens = mx.distributed.group(range(0, mx.distributed.world().size, 2))
    >>> if evens.is_member:
    ...     print(evens.allreduce(np.ones(2)))
    [1. 1.]
    """
    whole = world()
    given = list(ranks)
    are_numbers = all(type(each) is int and 0 <= each < whole.size for each in given)
    if not given or not are_numbers or len(set(given)) < len(given):
        raise ArgumentError(
            f"group: ranks are numbers from 0 to {whole.size - 1}, each once, got {shown(given)}"
        )
    if whole.size == 1:
        return Group(whole, given, None)
    return Group(whole, given, _create_communicator(whole._open_communication(), given))


def _create_communicator(talk, ranks):
    """Create the communicator of a group, once all ranks have called this; None on a rank that is
    no member."""
    made = []

    def start(comm):  # splits `comm`; returns a barrier
        talk.groups += 1
        mine = ranks.index(talk.rank) if talk.rank in ranks else None
        color = talk._mpi.UNDEFINED if mine is None else 0
        part = comm.Split(color, mine or 0)
        if mine is not None:
            made.append(GroupCommunication(talk, ranks, talk.groups, part))
            talk.parts.append(made[0])
        return comm.Ibarrier()

    talk.hand_in(Request(f"group of ranks {ranks}", 0, 8, start).make_waitable()).wait()
    return made[0] if made else None
