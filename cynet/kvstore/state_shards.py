"""States of an optimizer shared out over the ranks: each keeps and updates a part of them."""

from __future__ import annotations

from ..base.errors import ArgumentError, StateError
from ..optimizer.state_file import pack, unpack
from ..optimizer.updater import Updater


def shared_out(sizes: dict, ranks: int) -> dict:
    """The rank of each name, so that sums of sizes are about equal.

    >>> shared_out({"a": 5, "b": 3, "c": 3, "d": 1}, 2)
    {'a': 0, 'b': 1, 'c': 1, 'd': 0}
    """
    loads, owners = [0] * ranks, dict.fromkeys(sizes, 0)
    for name in sorted(sizes, key=lambda each: -sizes[each]):  # the order of names breaks ties
        rank = loads.index(min(loads))
        owners[name] = rank
        loads[rank] += sizes[name]
    return owners


def check_shareable(where, optimizer):
    """Refuse an optimizer whose steps of one weight depend on those of others."""
    if optimizer._draws or optimizer._couples_weights:
        kind = type(optimizer).__name__
        why = "draws random numbers for" if optimizer._draws else "has a schedule of"
        raise ArgumentError(
            f"{where}: shard_states does not go with {kind}, which {why} all weights in their"
            " order: ranks would take other steps than one process"
        )


def own_rows(optimizer, owners, rank, names):
    """Places of the names that a rank updates; the steps of the others are counted, in the order in
    which one process counts."""
    for name in names:
        optimizer._index_update_count.setdefault(name, optimizer.begin_num_update)
    for name in names:
        if owners[name] != rank:
            optimizer._update_count(name)
    return [i for i, name in enumerate(names) if owners[name] == rank]


def merged_states(store, updater, names):
    """The states of all ranks by name, in the order of `names`; waits."""
    states, content = {}, b"".join(pack(updater.states, None))
    for part in store._world.gather(content, "states of the optimizer"):
        states.update(unpack(part)[0])
    states.update(updater.states)
    return {name: states[name] for name in names if name in states}


class ShardedUpdater(Updater):
    """An Updater that keeps the states of a part of the weights and gives these to all ranks.

    Between `gather`, or loading, and the next step it has all states.

    Parameters
    ----------
    optimizer : Optimizer
    store : DistKVStore
    sizes : dict of int to int
        Numbers of elements by number of the weight.
    """

    def __init__(self, optimizer, store, sizes):
        super().__init__(optimizer)
        self._store, self._owners = store, shared_out(sizes, store.num_workers)
        self._is_whole = True

    def __call__(self, index, grad, weight):
        """One step of some weights, three lists, the same on all ranks."""
        rank, owners = self._store.rank, self._owners
        if self._is_whole:
            self._is_whole = False
            for each in [each for each in self.states if owners[each] != rank]:
                del self.states[each], self.states_synced[each]
        rows = own_rows(self.optimizer, owners, rank, index)
        super().__call__(*([each[i] for i in rows] for each in (index, grad, weight)))
        for root in range(self._store.num_workers):
            given = {i: [array] for i, array in zip(index, weight) if owners[i] == root}
            if given:
                self._store.share(given, root, keep=True)

    def gather(self):
        """Have all states here, until the next step; all ranks call it."""
        self.states = merged_states(self._store, self, self._owners)
        self.states_synced = {each: self.states_synced.get(each, False) for each in self.states}
        self._is_whole = True

    def take_over(self, states, optimizer):
        """See `Updater.take_over`; the next step drops what other ranks keep."""
        super().take_over(states, optimizer)
        self._is_whole = True

    def _chunks(self, dump_optimizer, pair=None):
        if not self._is_whole:
            raise StateError(
                "Module: the states are shared out over the ranks; all of them call"
                " module.gather_states() before one writes them"
            )
        return super()._chunks(dump_optimizer, pair)
