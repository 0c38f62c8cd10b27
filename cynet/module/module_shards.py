"""States of a Module's optimizer, sharded over the ranks: each one stores and updates a part."""

from __future__ import annotations

from ..base.errors import StateError
from ..kvstore import DistKVStore
from ..kvstore.shards import Shards, check_shareable


class ModuleShards:
    """Base of Module: each rank owns a part of the states; updated weights and saved states are
    gathered."""

    _shard_states = False  # whether the user has requested shards
    _shards = None  # the Shards; modules that share an optimizer share them

    def _share_out_states(self):
        """Divide the states of a new optimizer among the ranks."""
        self._shards = None
        store = self._kvstore
        if not (self._shard_states and isinstance(store, DistKVStore) and store.num_workers > 1):
            return
        check_shareable("Module", self._optimizer)
        group = self._exec_group
        rows = list(zip(self._param_names, group.param_arrays, group.grad_arrays))
        whole = {name for name, *arrays in rows if any(map(_is_sparse, arrays))}
        shapes = {name: tuple(weights[0].shape) for name, weights, _ in rows}
        self._shards = Shards(
            store, self._optimizer, shapes, whole, self._param_names, len(self._context)
        )

    def _update_own(self, keys, grads, weights):
        """Run the updates that belong to this rank."""
        self._updater(*self._shards.own(self._optimizer, keys, grads, weights))

    def _give_updated(self):
        """Each rank broadcasts the weights that it has updated: those of all buckets, since ranks
        may use different buckets."""
        if self._shards is not None:
            module = self._lender or self
            rows = zip(module._param_names, module._exec_group.param_arrays, module._grad_arrays)
            self._shards.give(
                {name: arrays for name, arrays, grads in rows if grads[0] is not None}
            )

    def _keep_own_states(self):
        """Reduce loaded states of all ranks to the part of this rank."""
        if self._shards is not None:
            self._updater.take_over(self._shards.own_states(self._updater.states), None)

    def gather_states(self) -> None:
        """Have this rank's files know the optimizer's states of all ranks, until the next step.

        With ``shard_states`` all ranks call it together before one of them writes states; `fit`
        does when an epoch ends. Without, it does nothing.

        Raises
        ------
        CynetError
            There is no optimizer yet.

        Examples
        --------
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), shard_states=True)
        >>> module.bind([("data", (4, 3))], [("softmax_label", (4,))])
        >>> module.init_params()
        >>> kv = mx.kv.create("dist_sync")
        >>> module.init_optimizer(kvstore=kv, optimizer="adam")
        >>> module.gather_states()
        >>> if kv.rank == 0:
        ...     module.save_optimizer_states("net-0001.states")
        """
        updater = self._updater_of_states("gather_states")
        if self._shards is not None:
            copies = len(self._context)
            keys = [i * copies + k for i in self._param_index.values() for k in range(copies)]
            self._shards.gather(updater, keys)

    def _gather_states(self):
        if self._shards is not None:
            self.gather_states()

    def _whole_updater(self, purpose):
        """The Updater with the states of all ranks, for a file."""
        updater = self._updater_of_states(purpose)
        if self._shards is None:
            return updater
        if self._shards.gathered is None:
            raise StateError(
                f"{purpose}: the states are shared out over the ranks; all of them call"
                " module.gather_states() before one writes them, as fit does when an epoch ends"
            )
        return self._shards.gathered


def _is_sparse(arrays):
    return arrays[0] is not None and arrays[0].stype != "default"
