"""Gathers arrays of which each rank has changed a part: all ranks then have all parts."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ndarray as nd
from ..base.compat import optional
from ..base.dtype import NAMES
from ..base.errors import shown
from ..distributed._work import host_view
from ..distributed.requests import Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..ndarray import NDArray

# An array of this many bytes is gathered in its own memory; smaller ones share a buffer.
_MIN_DIRECT_BYTES = 1 << 20  # bytes of an array that shares no buffer
_MPI_PIECE_BYTES = 2 << 20  # bytes of one MPI operation (buckets.py)


class GatheredBuffer:  # one allgather's memory
    """A buffer that ranks fill together: ``counts[rank]`` entries each, one after another."""

    def __init__(self, target: NDArray, counts: Sequence[int], what: str) -> None:
        self.target, self.counts, self.what = target, counts, what
        self.mine: list[tuple[NDArray, list[NDArray]]] = []  # [(view of target, its arrays)]
        self.others: list[tuple[NDArray, list[NDArray]]] = []

    def make_request(self, priority: int) -> Request:
        """Create the request that gathers the changed parts."""
        memory_of_all = host_view(self.target)
        bits = memory_of_all.view(f"u{memory_of_all.itemsize}")  # as integers: MPI has no float16
        step = max(_MPI_PIECE_BYTES // bits.itemsize // len(self.counts), 1)
        ends = np.cumsum(self.counts)

        def start_piece(i):
            sizes = [min(max(n - i, 0), step) for n in self.counts]
            starts = [int(end) - n + min(i, n) for end, n in zip(ends, self.counts)]
            return lambda comm: comm.Iallgatherv(_mpi_in_place(), [bits, (sizes, starts)])

        starts = [start_piece(i) for i in range(0, max(self.counts), step)]
        return Request(self.what, priority, bits.nbytes, starts, None, bits)


class ChangedParts:
    """The parts of arrays that each rank has changed and sends to the other ranks.

    Parameters
    ----------
    arrays : dict of key to list of NDArray
        Of the devices of this rank; the same keys, in one order, on all ranks.
    bounds : dict of key to list of (start, stop)
        The entries that each rank gives.
    rank : int
    """

    def __init__(
        self,
        arrays: dict[Any, Sequence[NDArray]],
        bounds: dict[Any, Sequence[tuple[int, int]]],
        rank: int,
    ) -> None:
        self._all = _flatten_groups(arrays)
        self.gathered = []
        together = {}
        for key, each in arrays.items():
            dtype = NAMES[each[0].dtype_flag]
            if len(each) == 1 and _is_large(each[0]) and _is_shared_by_ranks(bounds[key]):
                counts = [stop - start for start, stop in bounds[key]]
                what = f"parts of {shown(key)} {each[0].shape} {dtype}"
                self.gathered.append(GatheredBuffer(each[0], counts, what))
            else:
                together.setdefault(dtype, []).append(key)
        for dtype, keys in together.items():
            self.gathered.insert(0, _make_gathered_buffer(keys, dtype, arrays, bounds, rank))

    def is_made_of(self, arrays: dict[Any, Sequence[NDArray]]) -> bool:
        """Return whether the parts are parts of exactly these arrays."""
        given = _flatten_groups(arrays)
        return len(given) == len(self._all) and all(map(operator.is_, given, self._all))


def _make_gathered_buffer(keys, dtype, arrays, bounds, rank):
    """Create the GatheredBuffer of arrays that are copied together."""
    rows = [
        (each, key, *bounds[key][each])
        for each in range(len(bounds[keys[0]]))
        for key in keys
        if bounds[key][each][0] < bounds[key][each][1]
    ]
    counts = [0] * len(bounds[keys[0]])
    for owner, _, start, stop in rows:
        counts[owner] += stop - start
    texts = [f"{shown(key)} {arrays[key][0].shape} {dtype}" for key in keys]
    flat = nd.zeros((sum(counts),), dtype=dtype)
    found, place = GatheredBuffer(flat, counts, f"parts of {', '.join(texts)}"), 0
    for owner, key, start, stop in rows:
        whole = stop - start == math.prod(arrays[key][0].shape)
        parts = [each if whole else each._view((stop - start,), start) for each in arrays[key]]
        side = found.mine if owner == rank else found.others
        side.append((flat._view(parts[0].shape, place), parts))
        place += stop - start
    return found


def _flatten_groups(arrays):
    return [each for group in arrays.values() for each in group]


def _is_large(array):
    large = array.size * np.dtype(array.dtype).itemsize >= _MIN_DIRECT_BYTES
    return large and array.context.device_type.startswith("cpu")


def _is_shared_by_ranks(bounds):
    """Return whether more than one rank has a part of the array."""
    return sum(start < stop for start, stop in bounds) > 1


def _mpi_in_place():
    return optional("mpi4py.MPI", "training in several processes").IN_PLACE
