"""World: all processes that train together."""

from __future__ import annotations

import os
import socket
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from ..base import config
from ..base.errors import ArgumentError, PeerError, StateError
from ..base.guard import guarded
from ..graph.cuts import set_gradient_parts
from . import shutdown
from .communication import Communication
from .launched import early_ended_ranks, is_launched, own_rank, report_failure
from .requests import SUM_DTYPES, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import NDArray, NumpyArray

# parts of a network's gradients: the first ones are summed while others are computed
_GRADIENT_PARTS = 8  # parts of a backward whose gradients are sent early
_JOIN_SECONDS = 60  # minimum of seconds that ranks have to join


@guarded
class World:
    """The processes that train together; `world` returns the only instance.

    All ranks make the same calls in the same order; a call that the others do not make is an error
    on all of them. Threads of a process may call at once only what another thread of every rank
    calls in the same order.

    Parameters
    ----------
    communication : Communication or None
        Moves data between the ranks; None for a process that trains alone.

    Attributes
    ----------
    rank, size : int
        Number of this process, and how many there are.
    local_rank, local_size : int
        The same among the processes of this machine.
    hosts : list of str
        The machine of each rank.

    Examples
    --------
    >>> world = mx.distributed.world()
    >>> world.rank, world.size
    (0, 1)
    """

    def __init__(self, communication: Communication | None) -> None:
        self._communication = communication
        self.pid = os.getpid()
        self.rank, self.size, self.hosts = 0, 1, [socket.gethostname()]
        if communication is not None:
            self.rank, self.size = communication.rank, communication.size
            self.hosts = communication.hosts
        self._set_local_rank()

    def _set_local_rank(self):
        here = [rank for rank, host in enumerate(self.hosts) if host == self.hosts[self.rank]]
        self.local_rank, self.local_size = here.index(self.rank), len(here)

    @property
    def _has_one_rank(self):
        return self.size == 1

    def __repr__(self) -> str:
        return f"<rank {self.rank} of {self.size} on {self.hosts[self.rank]}>"

    def _open_communication(self):
        if self.pid != os.getpid():
            raise StateError(
                "this process was forked from a rank and does not take part in communication"
            )
        return self._communication

    def hand_in(
        self, request: Request, reads: Sequence[NDArray] = (), writes: Sequence[NDArray] = ()
    ) -> None:
        """Let the communication thread run a request once these arrays are free.

        Parameters
        ----------
        request : Request
            What all ranks compute together.
        reads, writes : sequence of NDArray
            Arrays that have to be readable, and writable, before it begins.

        Examples
        --------
        >>> from cynet.distributed.requests import Request
        >>> world, request = mx.distributed.world(), Request("all are here").make_waitable()
        >>> if world.size > 1:  # a process that is alone has nobody to hand it to
        ...     world.hand_in(request)
        ...     request.wait()
        """
        self._open_communication().hand_in(request, reads, writes)

    def check(self) -> None:
        """Raise the failure of the ranks, if there is one.

        Examples
        --------
        >>> mx.distributed.world().check()
        """
        if self._communication is not None:
            self._open_communication().check()

    @property
    def has_failed(self) -> bool:
        """True if a rank has failed: the ranks cannot communicate any more.

        Examples
        --------
        >>> mx.distributed.world().has_failed
        False
        """
        return self._communication is not None and self._communication.failure is not None

    def count_step(self) -> None:
        """Count one more step of training; messages name the step by this count.

        Examples
        --------
        >>> mx.distributed.world().count_step()  # fit and a Trainer call count_step in each step
        """
        if self._communication is not None:
            self._communication.step += 1

    @property
    def times(self) -> tuple[int, float, float]:
        """Training steps so far; seconds in which data moved between ranks during computation; and
        seconds in which this rank waited for other ranks.

        Examples
        --------
        >>> mx.distributed.world().times
        (0, 0.0, 0.0)
        """
        talk = self._communication
        return (0, 0.0, 0.0) if talk is None else (talk.step, talk.moving, talk.waiting)

    def barrier(self) -> None:
        """Wait until all ranks have called `barrier`.

        Examples
        --------
        >>> mx.distributed.world().barrier()  # returns at once in a single process
        """
        if not self._has_one_rank:
            self._open_communication().hand_in(Request("barrier").make_waitable()).wait()

    def allreduce(
        self, values: NumpyArray, what: str = "values", in_order: bool = True
    ) -> NumpyArray:
        """Return the sum of an array over all ranks, equal on all of them; waits for it.

        Parameters
        ----------
        values : numpy.ndarray
            An array of the same shape and dtype on all ranks.
        what : str
            Name of the array in messages.
        in_order : bool
            False for functions of the engine, which run in any order: ranks find one another by
            `what`, which no other call may use while this one waits.

        Raises
        ------
        ArgumentError
            There are no sums of the dtype of `values`.
        PeerError
            A rank has failed, or made another call.

        Examples
        --------
        >>> mx.distributed.world().allreduce(np.ones(3)).tolist()
        [1.0, 1.0, 1.0]
        """
        values = np.ascontiguousarray(values)
        if values.dtype.name not in SUM_DTYPES:
            raise ArgumentError(f"allreduce: a dtype of {sorted(SUM_DTYPES)}, got {values.dtype}")
        if self._has_one_rank:
            return values.copy()
        out = np.empty_like(values)
        text = f"sum of {what} {values.shape} {values.dtype}"
        request = Request(
            text, 1, values.nbytes, lambda comm: comm.Iallreduce(values, out), keep=(values, out)
        )
        self._open_communication().hand_in(request.make_waitable(), in_order=in_order).wait()
        return out

    def vote(self, yes: bool) -> Callable[[], bool]:
        """Ask whether all ranks agree; returns a function that waits for the answer.

        Parameters
        ----------
        yes : bool
            Vote of this rank.

        Returns
        -------
        callable
            ``answer()`` is True if all said yes.

        Examples
        --------
        >>> answer = mx.distributed.world().vote(True)
        >>> answer()
        True
        """
        if self._has_one_rank:
            return lambda: yes
        mine, found = np.array([not yes], np.int64), np.empty(1, np.int64)
        request = Request(
            "vote", 1 << 20, 8, lambda comm: comm.Iallreduce(mine, found), keep=(mine, found)
        ).make_waitable()
        self._open_communication().hand_in(request)

        def answer():  # whether all ranks said yes
            request.wait()
            return bool(found[0] == 0)

        return answer

    def gather(self, content: bytes, what: str = "messages") -> list[bytes]:
        """Return the bytes of every rank, in the order of ranks; waits for all ranks.

        Parameters
        ----------
        content : bytes
            Bytes of this rank; lengths may differ between ranks.
        what : str
            Name of the bytes in messages.

        Examples
        --------
        >>> mx.distributed.world().gather(b"mine")
        [b'mine']
        """
        if self._has_one_rank:
            return [bytes(content)]
        sizes = np.zeros(self.size, np.int64)
        sizes[self.rank] = len(content)
        sizes = self.allreduce(sizes, f"sizes of {what}")
        out = np.empty(int(sizes.sum()), np.uint8)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        mine = np.frombuffer(bytes(content), np.uint8)
        request = Request(
            f"{what} of all ranks",
            1,
            len(out),
            lambda comm: comm.Iallgatherv(mine, [out, (sizes, starts[:-1])]),
            keep=(mine, out),
        )
        self._open_communication().hand_in(request.make_waitable()).wait()
        return [out[starts[i] : starts[i + 1]].tobytes() for i in range(self.size)]

    def fail(self, text: str) -> None:
        """Report to the other ranks that this one has failed; every request then fails.

        Parameters
        ----------
        text : str
            Message of the errors on the other ranks.

        Examples
        --------
        >>> mx.distributed.world().fail("rank 0: the disk is full")  # alone: nobody to tell
        """
        if self._communication is not None and self.pid == os.getpid():
            self._communication.fail_this_rank(text)

    def _finish_at_exit(self):
        """End the communication at exit; return the code to exit with immediately, or None."""
        talk = self._communication
        if talk is None or self.pid != os.getpid():
            return None
        if talk.failure is None:
            talk.leave()
        if talk.failure is None:
            talk.join()
            return None
        shutdown.wait_until_read()
        talk.wait_for_reports()
        return talk.failure


_world_lock = threading.Lock()
_world = None  # of this process, after it has joined


def world() -> World:
    """Return the World: the processes that train together.

    The first call joins them if a launcher has started this process; else there is this one alone.

    Raises
    ------
    CynetError
        mpi4py or an MPI library is missing.

    Examples
    --------
    >>> mx.distributed.world().rank, mx.distributed.world().size  # started by itself
    (0, 1)
    """
    global _world
    with _world_lock:
        if _world is None:
            _world = World(_join_world() if is_launched() else None)
        return _world


def is_joined() -> bool:
    """Return whether `world` has been called, by a process that is one of several.

    Examples
    --------
    >>> mx.distributed.is_joined()  # started by itself
    False
    """
    return _world is not None and _world.size > 1


def is_first() -> bool:
    """Return whether this process prints and writes files for all: rank 0, or the only process.

    Examples
    --------
    >>> if mx.distributed.is_first():
    ...     print("one line, however many processes there are")
    one line, however many processes there are
    """
    return _world is None or _world.rank == 0


def _join_world():
    stall = config.get("CYNET_DIST_STALL")
    communication = Communication(stall)
    communication.start()
    limit = max(stall, _JOIN_SECONDS)
    until = time.monotonic() + limit
    while not communication.opened.wait(0.5):
        ended = early_ended_ranks()
        if ended:
            names = ", ".join(f"rank {rank} ({how})" for rank, how in ended)
            _raise_join_error(f"{names} ended before joining the others")
        if time.monotonic() > until:
            _raise_join_error(f"not all ranks have come within {limit} s (CYNET_DIST_STALL)")
    if communication.failure is not None:
        raise communication.failure
    shutdown.install_exit_hooks(lambda: _world)
    if communication.size > 1:
        set_gradient_parts(_GRADIENT_PARTS)
    return communication


def _raise_join_error(text):
    """Return the error for ranks that did not all join; this process cannot use MPI afterwards."""
    report_failure(own_rank(), socket.gethostname(), text, is_own=False)
    shutdown.abandon_startup()
    raise PeerError(f"joining the other ranks: {text}")
