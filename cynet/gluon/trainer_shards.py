"""States of a Trainer's optimizer, sharded over the ranks: each one stores and updates a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import ArgumentError, StateError
from ..kvstore import DistKVStore
from ..kvstore.shards import Shards, check_shareable

if TYPE_CHECKING:
    from ..optimizer import Updater


class TrainerShards:
    """Base of Trainer: each rank owns a part of the states; updated weights and saved states are
    gathered."""

    _shards = False  # whether the user has requested shards
    _parted = None  # the Shards, once shapes are known

    def _check_shards(self):
        """Refuse settings that do not allow sharding, as soon as the KVStore is known."""
        if not self._is_shared_out():
            return
        if self._update_on_kvstore:
            raise ArgumentError("Trainer: shard_states needs update_on_kvstore=False")
        check_shareable("Trainer", self._optimizer)

    def _is_shared_out(self):
        store = self._kvstore
        return self._shards and isinstance(store, DistKVStore) and store.num_workers > 1

    def _shard_pairs(self):
        if self._parted is None:
            pairs = list(zip(self._names, self._params))
            shapes = {name: tuple(each.shape or (0,)) for name, each in pairs}
            whole = {n for n, p in pairs if {p._stype, p._grad_stype} != {"default"}}
            self._parted = Shards(self._kvstore, self._optimizer, shapes, whole)
        return self._parted

    def _own_part(self, names, grads, weights):
        """The updates that belong to this rank; updates of other ranks are only counted."""
        return self._shard_pairs().owned_updates(self._optimizer, names, grads, weights)

    def _broadcast_weights(self):
        """Each rank broadcasts the weights that it has updated."""
        self._shard_pairs().give(
            {
                name: each._all_data()
                for name, each in zip(self._names, self._params)
                if each._grad_req != "null"
            }
        )

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
        if self._is_shared_out():
            self._shard_pairs().gather(self._updaters[0], self._names)

    def _full_updater(self) -> Updater:
        """The Updater with all states."""
        if not self._is_shared_out():
            return self._updaters[0]
        if self._shard_pairs().gathered is None:
            raise StateError(
                "Trainer: the states are shared out over the ranks; all of them call"
                " trainer.gather_states() before one writes them"
            )
        return self._shard_pairs().gathered

    def _own_states(self, states):
        """The states, by name, that this rank is to own."""
        return self._shard_pairs().own_states(states) if self._is_shared_out() else states
