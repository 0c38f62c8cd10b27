"""Monitor: statistics of what flows through executors, every few batches."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from .base.errors import ArgumentError
from .base.guard import guarded

if TYPE_CHECKING:
    from collections.abc import Callable

    from .base.typing import Executor, NDArray


@guarded
class Monitor:
    """Collects a statistic of outputs and parameters of executors.

    Parameters
    ----------
    interval : int
        Batches from one collection to the next.
    stat_func : callable, optional
        Function from an NDArray to an NDArray, a number or a list of these; by default the norm
        over the root of the size.
    pattern : str
        Regular expression for names; only those that match from their beginning are collected.
    sort : bool
        Order results by name.
    monitor_all : bool
        Also operators' inputs.

    Examples
    --------
    >>> monitor = Monitor(interval=100, pattern=".*weight")
    """

    def __init__(
        self,
        interval: int,
        stat_func: Callable[[NDArray], Any] | None = None,
        pattern: str = ".*",
        sort: bool = False,
        monitor_all: bool = False,
    ) -> None:
        if interval < 1:
            raise ArgumentError(f"Monitor: interval must be at least 1, got {interval}")
        self.stat_func = stat_func or _size_of_entries
        self.interval = interval
        self.activated = False
        self.queue = []
        self.step = 0
        self.exes = []
        self.re_pattern = re.compile(pattern)
        self.sort = sort
        self.monitor_all = monitor_all

    def stat_helper(self, name: str, array: NDArray) -> None:
        """What executors call with each value."""
        if self.activated and self.re_pattern.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))

    def install(self, exe: Executor) -> None:
        """Watch an executor, too."""
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        if exe not in self.exes:  # `fit` called again installs the monitor again
            self.exes.append(exe)

    def tic(self) -> None:
        """Begin a batch; call before forward."""
        if self.step % self.interval == 0:
            self.queue = []
            self.activated = True
        self.step += 1

    def toc(self) -> list[tuple[int, str, str]]:
        """End a batch: a list of (number of the batch, name, statistic as text)."""
        if not self.activated:
            return []
        self.activated = False
        for exe in self.exes:
            for arrays in (exe.arg_dict, exe.aux_dict):
                for name, array in arrays.items():
                    if self.re_pattern.match(name):
                        self.queue.append((self.step, name, self.stat_func(array)))
        collected = sorted(self.queue, key=lambda row: row[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _text(stat)) for step, name, stat in collected]

    def toc_print(self) -> None:
        """End a batch and log what was collected."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %30s %s", step, name, text)


def _size_of_entries(array):
    return array.norm() / array.size**0.5


def _text(stat):
    parts = []
    for each in stat if isinstance(stat, (list, tuple)) else [stat]:
        if hasattr(each, "asnumpy"):
            each = each.asnumpy()
            each = each.ravel()[0] if each.size == 1 else each
        parts.append(f"{each}\t")
    return "".join(parts)
