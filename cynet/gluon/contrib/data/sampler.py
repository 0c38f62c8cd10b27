"""IntervalSampler: every n-th sample, starting at 0, then at 1, and so on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....base.errors import ArgumentError
from ....base.kinds import to_index
from ...data import Sampler
from ...errors import MismatchError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["IntervalSampler"]


class IntervalSampler(Sampler):
    """Yields indices 0, `interval`, 2 `interval`, ...; with `rollover` then 1, 1 + `interval`, ...

    Parameters
    ----------
    length : int
        Number of samples.
    interval : int
    rollover : bool
        Go on at the next beginning until all were taken.

    Examples
    --------
    >>> list(IntervalSampler(7, 3))
    [0, 3, 6, 1, 4, 2, 5]
    >>> list(IntervalSampler(7, 3, rollover=False))
    [0, 3, 6]
    """

    def __init__(self, length: int, interval: int, rollover: bool = True) -> None:
        self._length = to_index("IntervalSampler: length", length)
        self._interval = to_index("IntervalSampler: interval", interval)
        if self._interval < 1:
            raise ArgumentError(f"IntervalSampler: interval must be 1 or more, got {interval}")
        if self._interval > self._length:
            raise MismatchError(
                f"IntervalSampler: interval {interval} is larger than the number of samples,"
                f" {length}"
            )
        self._rollover = rollover

    def __iter__(self) -> Iterator[int]:
        beginnings = range(self._interval if self._rollover else 1)
        return iter([i for at in beginnings for i in range(at, self._length, self._interval)])

    def __len__(self) -> int:
        if self._rollover:
            return self._length
        return len(range(0, self._length, self._interval))
