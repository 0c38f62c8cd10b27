"""Arenas: memory for the intermediate values of plans, which executors share."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..base.errors import OutOfMemoryError, with_message
from ..graph.ir import TEMP
from ..graph.memory_plan import nbytes
from ..ndarray import empty, zeros

if TYPE_CHECKING:
    import weakref
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from ..context import Context
    from ..graph.ir import Graph, Value

    _Result = TypeVar("_Result")
    ExecutorRef = weakref.ref[Any]


def arena_size(graph: Graph) -> int:
    """Return the bytes of a plan's arena; 0 if it needs none."""
    planned: int = graph.memory.planned
    if planned:
        return planned
    written = (value for step in graph.steps for _, value in step.written())
    return int(any(0 in value.shape for value in written))  # also an empty value needs an address


def allocate_for_use(
    what: str | Graph, function: Callable[..., _Result], *args: Any, **kwargs: Any
) -> _Result:
    """Return ``function(*args, **kwargs)``; its OutOfMemoryError names `what` the memory is for.

    Parameters
    ----------
    what : str or Graph
        The purpose of the memory. A Graph: its intermediate values; the error names the largest.
    """
    try:
        return function(*args, **kwargs)
    except OutOfMemoryError as error:
        if not isinstance(what, str):
            temporary = [v for step in what.steps for _, v in step.written() if v.kind == TEMP]
            largest = max(temporary, key=nbytes, default=None)
            what = "the values between arguments and outputs"
            if largest is not None:
                what += f" ({largest.name!r} of shape {largest.shape} is the largest)"
        raise with_message(error, f"no memory for {what}: {error}") from None


def zeros_for_values(values: Iterable[Value | None]) -> list[Any]:
    """Return an array of zeros for each value of a graph; None for None."""
    return [
        None
        if v is None
        else allocate_for_use(f"{v.name!r} of shape {v.shape}", zeros, v.shape, v.ctx, v.dtype)
        for v in values
    ]


def take_idle_arena(idle: list[Any], size: int, ctx: Context) -> Any:
    """Return an arena of at least `size` bytes from the list `idle`, or a new one, which replaces a
    smaller one."""
    small: list[Any] = []
    try:
        arena = idle.pop()
        while arena.size < size:
            small.append(arena)
            arena = idle.pop()
    except IndexError:
        if small:
            del small[min(range(len(small)), key=lambda i: small[i].size)]
        arena = empty((size,), ctx=ctx, dtype="uint8")
    if small:
        idle.extend(reversed(small))
    return arena


class ArenaLease:  # an arena and the executor that uses it
    """An arena (or outputs that autograd recorded), the executor that uses it, and whether a
    backward is pending."""

    __slots__ = ("array", "holder", "pending")

    def __init__(self, holder: ExecutorRef | None, array: Any) -> None:
        self.array: Any = array
        self.holder: ExecutorRef | None = holder
        self.pending = False

    def is_pending_for_other(self, other: ExecutorRef | None) -> bool:
        """Return whether an executor other than `other` has a pending backward on this memory."""
        alive = self.holder is not None and self.holder() is not None
        return self.pending and alive and self.holder is not other


class ArenaPool:
    """The arenas that executors share: one arena, and one more for each pending backward."""

    def __init__(self) -> None:
        self._leases: list[ArenaLease] = []
        self._recorded: list[ArenaLease] = []
        self._lock = threading.Lock()

    def _drop_finished_leases(self) -> None:
        # Release the recorded outputs that have no pending backward.
        stay = [each for each in self._recorded if each.is_pending_for_other(None)]
        for each in self._recorded:
            if each not in stay:
                each.holder = each.array = None
        self._recorded = stay

    def lease_outputs(self, holder: ExecutorRef, outputs: list[Any]) -> ArenaLease:
        """Return an ArenaLease for the outputs of a run that autograd recorded; ends the previous
        lease.

        Parameters
        ----------
        holder : weakref.ref
            To the executor.
        outputs : list of NDArray
        """
        with self._lock:
            self._drop_finished_leases()
            self._recorded.append(ArenaLease(holder, outputs))
            return self._recorded[-1]

    def lease_arena(self, holder: ExecutorRef, size: int, ctx: Context) -> ArenaLease:
        """Return an ArenaLease of an array of at least `size` bytes; ends the previous lease.

        Parameters
        ----------
        holder : weakref.ref
            To the executor.
        size : int
        ctx : Context
        """
        with self._lock:
            self._drop_finished_leases()
            busy = [each for each in self._leases if each.is_pending_for_other(holder)]
            free = [each for each in self._leases if each not in busy]
            free.sort(key=lambda lease: lease.array.size)
            fits = free and free[-1].array.size >= size
            best = ArenaLease(holder, free[-1].array if fits else empty((size,), ctx, "uint8"))
            # an executor without a lease takes a new one before it runs
            for lease in free:
                lease.holder = lease.array = None
            self._leases = [*busy, best]
        return best
