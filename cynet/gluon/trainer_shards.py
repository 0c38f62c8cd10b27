"""States of a Trainer's optimizer, shared out over the ranks: each keeps and updates a part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .. import optimizer as opt
from ..base.errors import ArgumentError, StateError
from ..kvstore import DistKVStore
from ..kvstore.state_shards import check_shareable, merged_states, own_rows, shared_out

if TYPE_CHECKING:
    from ..optimizer import Updater


class TrainerShards:
    """Base of Trainer: what each rank has of the states, weights given to all, states gathered."""

    _shards = False  # whether the user asks for it
    _owners = None  # once it is known: the rank that has the states of each name
    _gathered = None  # an Updater with the states of all ranks, until the next step

    def _check_shards(self):
        """Refuse what cannot be shared out, as soon as the KVStore is known."""
        if not self._is_shared_out():
            return
        if self._update_on_kvstore:
            raise ArgumentError("Trainer: shard_states needs update_on_kvstore=False")
        check_shareable("Trainer", self._optimizer)

    def _is_shared_out(self):
        store = self._kvstore
        return self._shards and isinstance(store, DistKVStore) and store.num_workers > 1

    def _find_owners(self):
        if self._owners is None:
            sizes = {n: math.prod(p.shape or (0,)) for n, p in zip(self._names, self._params)}
            self._owners = shared_out(sizes, self._kvstore.num_workers)
        return self._owners

    def _own_part(self, names, grads, weights):
        """Of what is to be updated, this rank's; the steps of the others are counted."""
        owners, rank = self._find_owners(), self._kvstore.rank
        self._gathered = None
        own = own_rows(self._optimizer, owners, rank, names)
        return [[each[i] for i in own] for each in (names, grads, weights)]

    def _give_weights(self):
        """Each rank gives the others the weights that it has updated."""
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
        found.states = merged_states(self._kvstore, self._updaters[0], self._names)
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
        """Of states by name, those that this rank is to keep."""
        if not self._is_shared_out():
            return states
        owners, rank = self._find_owners(), self._kvstore.rank
        return {name: each for name, each in states.items() if owners[name] == rank}
