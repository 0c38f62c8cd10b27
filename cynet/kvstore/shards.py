"""States of an optimizer, sharded over the ranks: each one stores and updates a part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from ..base.errors import ArgumentError
from ..optimizer import get_updater
from ..optimizer.state_file import unpack_states
from .changed_parts import ChangedParts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..ndarray import NDArray
    from ..optimizer import Optimizer, Updater
    from .dist import DistKVStore

_MIN_SPLIT_SIZE = 1 << 12  # entries for each rank, from which a weight is split
# Weights of at most this many entries are updated by all ranks: their states are small, and biases
# and first layers need not wait for another rank.
_MAX_SHARED_ENTRIES = 1 << 10  # entries
_SHARD_ALIGNMENT = 16  # entries: pieces begin at cache lines


def assign_ranks(sizes: dict[Any, int], ranks: int) -> dict[Any, int]:
    """Assign a rank to each name, so that the sums of sizes are about equal.

    >>> assign_ranks({"a": 5, "b": 3, "c": 3, "d": 1}, 2)
    {'a': 0, 'b': 1, 'c': 1, 'd': 0}
    """
    loads, owners = [0] * ranks, dict.fromkeys(sizes, 0)
    for name in sorted(sizes, key=lambda each: -sizes[each]):  # the order of names breaks ties
        rank = loads.index(min(loads))
        owners[name] = rank
        loads[rank] += sizes[name]
    return owners


def shard_range(size: int, rank: int, ranks: int) -> tuple[int, int]:
    """Return (start, stop) of a rank's shard of `size` entries.

    >>> [shard_range(100, rank, 3) for rank in range(3)]
    [(0, 48), (48, 96), (96, 100)]
    """
    step = -(-size // (ranks * _SHARD_ALIGNMENT)) * _SHARD_ALIGNMENT
    return min(rank * step, size), min((rank + 1) * step, size)


def check_shardable(who: str, optimizer: Optimizer) -> None:
    """Refuse an optimizer whose step of one weight depends on the steps of other weights."""
    if optimizer._draws or optimizer._couples_weights:
        why = "draws random numbers for" if optimizer._draws else "has a schedule of"
        raise ArgumentError(
            f"{who}: shard_states does not go with {type(optimizer).__name__}, which {why} all"
            " weights in their order: ranks would take other steps than one process"
        )


class Shards:  # the optimizer's states that this rank stores
    """The optimizer's states that this rank stores. Of large weights each rank stores a piece if
    entries are updated independently, of other weights one rank stores all; small weights' states
    are on all ranks.

    Parameters
    ----------
    store : DistKVStore
    optimizer : Optimizer
    shapes : dict of key to shape
        Of all weights, in one order on all ranks.
    whole : set of keys
        Of weights that are not split: sparse ones.
    names : list, optional
        The key of `shapes` for each number: an updater's keys are ``number * copies + device``. By
        default they are those of `shapes`.
    copies : int
        Devices of a rank.
    """

    def __init__(
        self,
        store: DistKVStore,
        optimizer: Optimizer,
        shapes: dict[Any, tuple[int, ...]],
        whole: Iterable[Any] = (),
        names: Sequence[Any] | None = None,
        copies: int = 1,
    ) -> None:
        self._store, self._shapes, self._names, self._copies = store, shapes, names, copies
        self.gathered = None  # an Updater with the states of all ranks, until the next step
        self._rank, ranks = store.rank, store.num_workers
        sizes = {key: math.prod(shape) for key, shape in shapes.items()}
        by_entry = _is_entrywise(optimizer)
        self._pieces = {  # split weight -> (start, stop) of each rank
            key: [shard_range(n, rank, ranks) for rank in range(ranks)]
            for key, n in sizes.items()
            if by_entry
            and n >= max(_MIN_SPLIT_SIZE * ranks, _MAX_SHARED_ENTRIES + 1)
            and key not in whole
        }
        self._everywhere = {
            key for key, n in sizes.items() if n <= _MAX_SHARED_ENTRIES and key not in whole
        }
        others = {
            key: n
            for key, n in sizes.items()
            if key not in self._pieces and key not in self._everywhere
        }
        self._owners = assign_ranks(others, ranks)
        self._given = None  # the ChangedParts of the last call of `send_weights`
        self._views = {}  # (key of the updater, what) -> (array, its piece)

    def _weight_of_key(self, key):
        if self._names is None:
            return key
        number = key // self._copies
        return self._names[number] if number < len(self._names) else None  # None: an unknown key

    def _owns_state(self, weight, rank):
        """Return whether a rank owns states of a weight, or a piece of them."""
        if weight in self._pieces:
            start, stop = self._pieces[weight][rank]
            return start < stop
        return weight in self._everywhere or self._owners.get(weight) == rank

    def _shard_of(self, key, what, array):
        """Return this rank's piece of an array, the same object in each step: steps are cached."""
        source, view = self._views.get((key, what), (None, None))
        if source is not array:
            view = _array_slice(array, *self._pieces[self._weight_of_key(key)][self._rank])
            self._views[key, what] = array, view
        return view

    def owned_updates(
        self,
        optimizer: Optimizer,
        keys: Sequence[Any],
        grads: Sequence[NDArray],
        weights: Sequence[NDArray],
    ) -> tuple[list[Any], list[NDArray], list[NDArray]]:
        """Return the updates that this rank computes; those of other ranks are only counted."""
        self.gathered = None
        for key in keys:  # the same order of counts as in a single process
            optimizer._index_update_count.setdefault(key, optimizer.begin_num_update)
        mine = [], [], []
        for key, grad, weight in zip(keys, grads, weights):
            if not self._owns_state(self._weight_of_key(key), self._rank):
                optimizer._update_count(key)
                continue
            row = key, grad, weight
            if self._weight_of_key(key) in self._pieces:
                row = key, self._shard_of(key, "grad", grad), self._shard_of(key, "weight", weight)
            for column, each in zip(mine, row):
                column.append(each)
        return mine

    def send_weights(self, weights: dict[Any, Sequence[NDArray]]) -> None:
        """Send the weights that this rank has updated to all ranks and devices."""
        given = {key: each for key, each in weights.items() if key not in self._everywhere}
        if self._given is None or not self._given.is_made_of(given):
            bounds = {key: self._shard_bounds(key) for key in given}
            self._given = ChangedParts(given, bounds, self._rank)
        self._store.gather(self._given)

    def _shard_bounds(self, key):
        """Return (start, stop) of the entries of a weight that each rank updates."""
        if key in self._pieces:
            return self._pieces[key]
        whole, owner = (0, math.prod(self._shapes[key])), self._owners.get(key)
        return [whole if owner == rank else (0, 0) for rank in range(self._store.num_workers)]

    def gather_all_states(self, updater: Updater, keys: Iterable[Any]) -> None:
        """Set `gathered` to an Updater with the states of all ranks, in the order of `keys`; all
        ranks call this method."""
        found = get_updater(updater.optimizer)
        content = b"".join(updater.state_chunks())
        parts = self._store._world.gather(content, "states of the optimizer")
        ranks = [unpack_states(part)[0] for part in parts]
        for key in keys:
            states = [each[key] for each in ranks if key in each]
            if states:
                split = self._weight_of_key(key) in self._pieces
                shape = self._shapes[self._weight_of_key(key)]
                found.states[key] = _join_state_shards(states, shape) if split else states[0]
        found.states_synced = dict.fromkeys(found.states, True)
        self.gathered = found

    def pick_own_states(self, states: dict[Any, Any]) -> dict[Any, Any]:
        """Return the part of all weights' loaded states that this rank stores."""
        self.gathered, own = None, {}
        for key, state in states.items():
            weight = self._weight_of_key(key)
            if self._owns_state(weight, self._rank):
                bounds = self._pieces.get(weight)
                if bounds:
                    state = _state_shard(state, self._shapes[weight], bounds[self._rank])
                own[key] = state
        return own


def _is_entrywise(optimizer):
    """Return whether the optimizer updates each entry of a weight independently."""
    by_entry = vars(type(optimizer)).get("_by_entry", False)
    return by_entry and not (optimizer._of_user or optimizer._on_object)


def _array_slice(array, start, stop):
    return array._view((stop - start,), start)


def _join_state_shards(states, shape):
    """Return the state of a weight, joined from the pieces of all ranks."""
    first = states[0]
    if first is None:
        return None
    if isinstance(first, (tuple, list)):
        return type(first)(_join_state_shards(each, shape) for each in zip(*states))
    return nd.concat(*states, dim=0).reshape(shape)


def _state_shard(state, shape, bounds):
    """Return a copy of a piece of a state; an array of a wrong shape stays: the next step refuses
    it."""
    if isinstance(state, (tuple, list)):
        return type(state)(_state_shard(each, shape, bounds) for each in state)
    if state is None or state.shape != tuple(shape):
        return state
    return _array_slice(state, *bounds).copy()
