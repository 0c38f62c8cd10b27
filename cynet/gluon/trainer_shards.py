"""States of a Trainer's optimizer, sharded over the ranks: each one stores and updates a part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import optimizer as opt
from ..base.errors import ArgumentError, StateError
from ..kvstore import DistKVStore
from ..optimizer.state_file import unpack

if TYPE_CHECKING:
    from ..optimizer import Updater


def shared_out(sizes: dict[str, int], ranks: int) -> dict[str, int]:
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


class TrainerShards:
    """Base of Trainer: each rank owns a part of the states; updated weights and saved states are
    gathered."""

    _shards = False  # whether the user has requested it
    _owners = None  # once it is known: the rank that has the states of each name
    _gathered = None  # an Updater with the states of all ranks, until the next step

    def _check_shards(self):
        """Refuse settings that do not allow sharding, as soon as the KVStore is known."""
        if not self._is_shared_out():
            return
        if self._update_on_kvstore:
            raise ArgumentError("Trainer: shard_states needs update_on_kvstore=False")
        if self._optimizer._draws or self._optimizer._couples_weights:
            kind = type(self._optimizer).__name__
            why = "draws random numbers for" if self._optimizer._draws else "has a schedule of"
            raise ArgumentError(
                f"Trainer: shard_states does not go with {kind}, which {why} all weights in their"
                " order: ranks would take other steps than one process"
            )

    def _is_shared_out(self):
        store = self._kvstore
        return self._shards and isinstance(store, DistKVStore) and store.num_workers > 1

    def _find_owners(self):
        if self._owners is None:
            sizes = {n: math.prod(p.shape or (0,)) for n, p in zip(self._names, self._params)}
            self._owners = shared_out(sizes, self._kvstore.num_workers)
        return self._owners

    def _own_part(self, names, grads, weights):
        """The updates that belong to this rank; those of the others are only counted."""
        owners, rank = self._find_owners(), self._kvstore.rank
        self._gathered = None
        own = [i for i, name in enumerate(names) if owners[name] == rank]
        optimizer = self._optimizer
        for name in names:  # in the order in which one process counts
            optimizer._index_update_count.setdefault(name, optimizer.begin_num_update)
        for name in names:
            if owners[name] != rank:
                optimizer._update_count(name)
        return [[each[i] for i in own] for each in (names, grads, weights)]

    def _give_weights(self):
        """Each rank broadcasts the weights that it has updated."""
        owners = self._find_owners()
        for rank in range(self._kvstore.num_workers):
            given = {
                name: each._all_data()
                for name, each in zip(self._names, self._params)
                if each._grad_req != "null" and owners[name] == rank
            }
            if given:
                self._kvstore.share(given, rank, keep=True)

    def gather_states(self) -> None:
        """Have this rank's `save_states` know the states of all ranks, until the next step.

        With ``shard_states`` all ranks call it together before one of them writes; the handlers of
        an Estimator do. Without, it does nothing.

        Examples
        --------
        >>> net = mx.gluon.nn.Dense(1, in_units=2)
        >>> net.initialize()
        >>> kv = mx.kv.create("dist_sync")
        >>> params = net.collect_params()
        >>> trainer = mx.gluon.Trainer(params, "adam", kvstore=kv, shard_states=True)
        >>> trainer.gather_states()
        >>> if kv.rank == 0:
        ...     trainer.save_states("net.states")
        """
        self._prepare()
        if not self._is_shared_out():
            return
        found = opt.get_updater(self._optimizer)
        content = b"".join(self._updaters[0].chunks())
        states = {}
        for part in self._kvstore._world.gather(content, "states of the optimizer"):
            states.update(unpack(part)[0])
        found.states = {name: states[name] for name in self._names if name in states}
        found.states_synced = dict.fromkeys(found.states, True)
        self._gathered = found

    def _whole(self) -> Updater:
        """The Updater with all states."""
        if not self._is_shared_out():
            return self._updaters[0]
        if self._gathered is None:
            raise StateError(
                "Trainer: the states are shared out over the ranks; all of them call"
                " trainer.gather_states() before one writes them"
            )
        return self._gathered

    def _own_states(self, states):
        """The states, by name, that this rank is to own."""
        if not self._is_shared_out():
            return states
        owners, rank = self._find_owners(), self._kvstore.rank
        return {name: each for name, each in states.items() if owners[name] == rank}
