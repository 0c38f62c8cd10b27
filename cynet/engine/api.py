"""The dependency engine: functions run when the variables they read and write are free."""

from __future__ import annotations

import atexit
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..base.guard import guarded
from .python_tasks import stop_at_exit
from .python_work import Engine, NaiveEngine, ThreadedEngine, Variable, get, set_bulk_size

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Engine", "NaiveEngine", "ThreadedEngine", "Variable", "bulk", "get", "set_bulk_size"]

atexit.register(stop_at_exit)


@contextmanager
@guarded
def bulk(size: int) -> Iterator[None]:
    """Wake sleeping workers once every `size` pushes of this thread, within a ``with`` statement.

    The order and the results of the functions are the same; many small ones cost less.

    Parameters
    ----------
    size : int
        Number of pushes; 0 or 1 wakes workers at each push.

    Yields
    ------
    None

    Raises
    ------
    ArgumentError
        If it is negative, or above 2**31 - 1.

    Examples
    --------
    >>> e = mx.engine.get()
    >>> v, seen = e.new_variable(), []
    >>> with mx.engine.bulk(10):
    ...     for i in range(5):
    ...         e.push_sync(lambda run_ctx, i=i: seen.append(i), None, (), (v,))
    >>> e.wait_for_var(v)
    >>> seen
    [0, 1, 2, 3, 4]
    """
    before = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(before)
