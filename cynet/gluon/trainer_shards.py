"""Sharded states of a Trainer's optimizer: each rank stores and updates a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import ArgumentError, StateError
from ..kvstore import DistKVStore
from ..kvstore.shards import Shards, check_shardable

if TYPE_CHECKING:
    from ..optimizer import Updater


class TrainerShards:  # base of Trainer: states spread over ranks
    """Base of Trainer with ``shard_states``: each rank stores a part of the optimizer's states."""

    _shards = False  # whether the user has requested shards
    _parted = None  # Shards, created once shapes are known

    def _check_shards(self):
        """Raise an error for settings that do not allow sharding, once the KVStore is known."""
        if not self._is_sharded():
            return
        if self._update_on_kvstore:
            raise ArgumentError("Trainer: shard_states needs update_on_kvstore=False")
        check_shardable("Trainer", self._optimizer)

    def _is_sharded(self):
        store = self._kvstore
        return self._shards and isinstance(store, DistKVStore) and store.num_workers > 1

    def _get_update_shards(self):
        if self._parted is None:
            pairs = list(zip(self._names, self._params))
            shapes = {name: tuple(each.shape or (0,)) for name, each in pairs}
            whole = {n for n, p in pairs if {p._stype, p._grad_stype} != {"default"}}
            self._parted = Shards(self._kvstore, self._optimizer, shapes, whole)
        return self._parted

    def _updates_of_this_rank(self, names, grads, weights):
        """Return the updates that this rank computes; only count the updates of other ranks."""
        return self._get_update_shards().owned_updates(self._optimizer, names, grads, weights)

    def _broadcast_weights(self):
        """Broadcast the weights that this rank has updated."""
        self._get_update_shards().send_weights(
            {
                name: each._data_of_contexts()
                for name, each in zip(self._names, self._params)
                if each._grad_req != "null"
            }
        )

    def gather_states(self) -> None:
        """Gather the states of all ranks, so that `save_states` writes all before the next step.

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
        self._prepare_kvstore()
        if self._is_sharded():
            self._get_update_shards().gather_all_states(self._updaters[0], self._names)

    def _full_updater(self) -> Updater:
        """Return the Updater with the states of all ranks."""
        if not self._is_sharded():
            return self._updaters[0]
        if self._get_update_shards().gathered is None:
            raise StateError(
                "Trainer: the states are shared out over the ranks; all of them call"
                " trainer.gather_states() before one writes them"
            )
        return self._get_update_shards().gathered

    def _states_of_this_rank(self, states):
        """Select the states, by name, that this rank stores."""
        return self._get_update_shards().pick_own_states(states) if self._is_sharded() else states
