"""A module's optimizer: setting, borrowing, its states in files, gradient clipping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ndarray as nd
from .. import optimizer as opt
from ..base.errors import ArgumentError, ArgumentTypeError, CynetError, StateError, shown, warn_user
from ..base.files import write_atomically
from ..base.guard import guarded
from ..io.checkpoint import save_checkpoint
from ..kvstore import DistKVStore
from ..kvstore.shards import Shards, check_shardable
from ..optimizer.clipping import clip_global_norm
from ..optimizer.settings import check_real
from .parameter_update import _create_kvstore, _initialize_kvstore, _update_params

if TYPE_CHECKING:
    from ..typing import FileName, KVStoreLike, NDArray, Optimizer, OptimizerParams
    from .base_module import BaseModule


@guarded
class Optimization:  # mixin of Module: its optimizer's methods
    """Mixin of Module for its optimizer; it uses Module's attributes."""

    _shard_states = False  # whether the user requested sharded states
    _shards = None  # the Shards, common to all modules with one optimizer

    def init_optimizer(
        self,
        kvstore: KVStoreLike | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Set the optimizer that ``update`` applies.

        Parameters
        ----------
        kvstore : str, KVStore or None
            How several devices come to the same weights; one device needs none.
        optimizer : str or Optimizer
            A name gets ``rescale_grad=1/batch_size`` unless `optimizer_params` says otherwise.
        optimizer_params : dict or pairs
            For an optimizer given by name.
        force_init : bool
            Do it even if it has been done.

        Raises
        ------
        CynetError
            The module is not bound, or its parameters have no values yet.
        ArgumentTypeError
            `optimizer` is neither a name nor an Optimizer, or `optimizer_params` is not a dict.
        """
        self._require_state("init_optimizer", "binded", "params_initialized")
        if self._should_keep_optimizer(kvstore, optimizer, optimizer_params, force_init):
            return
        if self._params_dirty:
            self._sync_params_from_devices()
        kvstore, update_on_kvstore = _create_kvstore(kvstore, len(self._context), self._arg_params)
        batch_size = self._exec_group.batch_size
        if kvstore is not None and "dist" in kvstore.type:
            batch_size *= kvstore.num_workers
        rescale_grad = 1.0 / batch_size
        count = 1 if update_on_kvstore else len(self._context)
        names = {
            i * count + k: name for i, name in enumerate(self._param_names) for k in range(count)
        }
        if isinstance(optimizer, str):
            settings = {"rescale_grad": rescale_grad, **dict(optimizer_params)}
            optimizer = opt.create(optimizer, sym=self.symbol, param_idx2name=names, **settings)
        elif not isinstance(optimizer, opt.Optimizer):
            made = f"; {optimizer.__name__}() makes one" if isinstance(optimizer, type) else ""
            raise ArgumentTypeError(
                f"optimizer must be a name or an Optimizer, got {shown(optimizer)}{made}"
            )
        else:
            if optimizer.rescale_grad != rescale_grad:
                warn_user(
                    f"the optimizer has rescale_grad={optimizer.rescale_grad}, which is"
                    f" not 1 / batch size = {rescale_grad}; is this intended?"
                )
            if not optimizer.idx2name:
                optimizer.idx2name = names
        self._optimizer = optimizer
        self._kvstore = kvstore
        self._update_on_kvstore = update_on_kvstore
        self._updater = None
        if kvstore is not None:
            if self._compression_params:
                kvstore.set_gradient_compression(self._compression_params)
            if update_on_kvstore:
                kvstore.set_optimizer(optimizer)
            elif isinstance(kvstore, DistKVStore):
                kvstore.agree_on(optimizer, "init_optimizer")
            _initialize_kvstore(
                kvstore,
                self._exec_group.param_arrays,
                self._arg_params,
                self._param_names,
                update_on_kvstore,
            )
            if isinstance(kvstore, DistKVStore) and self._aux_names:
                group = self._exec_group
                pairs = zip(self._aux_names, group.aux_arrays)
                kvstore.share({n: [self._aux_params[n], *arrays] for n, arrays in pairs})
        if not update_on_kvstore:
            self._updater = opt.get_updater(optimizer)
        self._distribute_states()
        self.optimizer_initialized = True
        if self._preload_opt_states is not None:
            self.load_optimizer_states(self._preload_opt_states)
            self._preload_opt_states = None

    def borrow_optimizer(self, shared_module: BaseModule) -> None:
        """Use the optimizer, its states and the KVStore of another module.

        States, such as momenta, go by the parameters' names. A :class:`BucketingModule` does it for
        each of its buckets, so that all of them make steps of one training.

        Parameters
        ----------
        shared_module : Module
            A module that has an optimizer, and all parameters of this one.

        Raises
        ------
        ArgumentError
            The other module has no optimizer yet, or lacks one of the parameters.

        Examples
        --------
        >>> def bound(batch_size, shared=None):
        ...     net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        ...     module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
        ...     shapes = [("data", (batch_size, 3))], [("softmax_label", (batch_size,))]
        ...     module.bind(*shapes, shared_module=shared)
        ...     return module
        >>> large = bound(8)
        >>> large.init_params()
        >>> small = bound(2, large)
        >>> large.init_optimizer()
        >>> small.borrow_optimizer(large)
        >>> small.optimizer_initialized
        True
        """
        if not shared_module.optimizer_initialized:
            raise ArgumentError("borrow_optimizer: the other module has no optimizer yet")
        self._optimizer = shared_module._optimizer
        self._kvstore = shared_module._kvstore
        self._update_on_kvstore = shared_module._update_on_kvstore
        self._updater = shared_module._updater
        self._shards = shared_module._shards
        strangers = [name for name in self._param_names if name not in shared_module._param_index]
        if strangers:
            raise ArgumentError(
                f"borrow_optimizer: the other module has no parameter {', '.join(strangers)}"
            )
        self._param_index = shared_module._param_index
        self._lender = shared_module._module_with_all_parameters()
        self._collect_update_arguments()
        self.optimizer_initialized = True

    def _replace_optimizer(self, optimizer):
        """Replace the optimizer by one that was loaded with its states."""
        self._optimizer = optimizer
        self._keep_own_states()

    def _collect_update_arguments(self):
        """Collect the arguments of ``update``: all gradients, with None for parameters that are not
        updated; and for the updater of one device: indices, gradients, weights."""
        group = self._exec_group
        self._grad_arrays = [
            [None] * len(grads) if name in self._fixed_values else grads
            for name, grads in zip(self._param_names, group.grad_arrays)
        ]
        rows = [
            (self._param_index[name], grads[0], weights[0])
            for name, weights, grads in zip(
                self._param_names, group.param_arrays, self._grad_arrays
            )
            if grads[0] is not None
        ]
        self._updates = tuple(map(list, zip(*rows))) or ([], [], [])

    def save_checkpoint(
        self,
        prefix: FileName,
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = True,
    ) -> None:
        """Write symbol and parameters, and optionally the optimizer states, to files.

        Parameters
        ----------
        save_optimizer_states : bool
            Also write ``prefix-0003.states``.

        Examples
        --------
        >>> import os, tempfile
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (1, 2))], for_training=False)
        >>> module.init_params()
        >>> folder = tempfile.mkdtemp()
        >>> module.save_checkpoint(os.path.join(folder, "net"), 3)
        >>> sorted(os.listdir(folder))
        ['net-0003.params', 'net-symbol.json']
        """
        self._require_state("save_checkpoint", "params_initialized")
        updater = self._updater_to_save("save_checkpoint") if save_optimizer_states else None
        save_checkpoint(prefix, epoch, self._symbol, *self.get_params(), remove_amp_cast, updater)

    def _updater_with_states(self, purpose):
        """Return the updater that has the optimizer's states."""
        self._require_state(purpose, "optimizer_initialized")
        return self._kvstore.updater if self._update_on_kvstore else self._updater

    def save_optimizer_states(self, fname: FileName) -> None:
        """Write the optimizer's states, such as momenta, to a file.

        The count of updates is not among them, as in MXNet: Adam and its kin go on exactly where
        ``init_optimizer`` is given it as ``begin_num_update``. ``fit(resume=...)`` keeps it.

        Parameters
        ----------
        fname : str
            The file to write, usually ``PREFIX-0003.states``.

        Raises
        ------
        CynetError
            There is no optimizer yet.

        Examples
        --------
        >>> import os
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
        >>> module.bind([("data", (4, 3))], [("softmax_label", (4,))])
        >>> module.init_params()
        >>> module.init_optimizer(optimizer_params={"momentum": 0.9})
        >>> module.train_step(mx.io.DataBatch([mx.nd.ones((4, 3))], [mx.nd.zeros(4)]))
        >>> module.save_optimizer_states("net-0001.states")
        >>> os.path.exists("net-0001.states")
        True
        """
        write_atomically(fname, self._updater_to_save("save_optimizer_states").state_chunks())

    def load_optimizer_states(self, fname: FileName) -> None:
        """Load a file of ``save_optimizer_states``; the optimizer must have the same class.

        Parameters
        ----------
        fname : str
            A file that `save_optimizer_states` wrote.

        Raises
        ------
        CynetError
            There is no optimizer yet.
        MissingFileError
            There is no such file.
        FormatError
            The file holds something else.

        Examples
        --------
        The first step with momentum is `learning_rate` times the gradient, the second 1.9 times
        that:

        >>> def weight_after_a_step(states=None):
        ...     weight = mx.sym.Variable("w_weight", shape=(1,))
        ...     net = mx.sym.MakeLoss(mx.sym.Variable("data") * weight)
        ...     module = mx.mod.Module(net, label_names=None)
        ...     module.bind([("data", (1,))])
        ...     module.init_params(mx.init.One())
        ...     module.init_optimizer(optimizer_params={"learning_rate": 0.1, "momentum": 0.9})
        ...     if states is not None:
        ...         module.load_optimizer_states(states)
        ...     module.train_step(mx.io.DataBatch([mx.nd.array([1])]))
        ...     module.save_optimizer_states("net-0001.states")
        ...     return round(module.get_params()[0]["w_weight"].asscalar().item(), 4)
        >>> weight_after_a_step()
        0.9
        >>> weight_after_a_step("net-0001.states")
        0.81
        """
        updater = self._updater_with_states("load_optimizer_states")
        updater.load(fname)
        if isinstance(self._kvstore, DistKVStore):
            self._kvstore.agree_on_states(updater, "load_optimizer_states")
        self._keep_own_states()

    def clip_gradients(self, max_norm: float) -> NDArray:
        self._require_state("clip_gradients", "binded", "optimizer_initialized")
        check_real("clip_gradients: max_norm", max_norm)
        if not max_norm > 0:
            raise ArgumentError(f"clip_gradients: max_norm must be above 0, got {shown(max_norm)}")
        if len(self._context) > 1:
            raise CynetError(
                "clip_gradients: on several devices the gradients are summed up by update, so"
                " their norm is not known before"
            )
        # sum over the ranks first: the norm is that of the sum
        if isinstance(self._kvstore, DistKVStore):
            self._sum_grads_over_ranks()
        scale = self._optimizer.rescale_grad
        others = [grads[0] for grads in self._of_other_buckets[1]]
        return clip_global_norm([*self._updates[1], *others], max_norm / scale, False) * scale

    def _module_with_all_parameters(self):
        """Return the module with the parameters of all modules that share its optimizer."""
        self._lender = self._lender or self
        return self._lender

    def _sum_grads_over_ranks(self):
        """Sum the gradients of the last backward over the ranks, once."""
        if self._is_summed:
            return
        rows = {
            name: grads
            for name, grads in zip(self._param_names, self._grad_arrays)
            if grads[0] is not None
        }
        if self._lender is None:
            self._kvstore.sum_up(list(rows), list(rows.values()), optimizer=self._optimizer)
        else:
            self._sum_bucket_grads(rows)
        self._is_summed = True

    def _sum_bucket_grads(self, rows):
        """Sum gradients when ranks may be in buckets with different parameters: a parameter that a
        bucket does not use counts as 0, and one that any of them uses is updated on all ranks."""
        lender = self._lender
        weights = dict(zip(lender._param_names, lender._exec_group.param_arrays))
        all_rows = {
            name: rows.get(name) or [nd.zeros_like(grad) for grad in grads]
            for name, grads in zip(lender._param_names, lender._grad_arrays)
            if grads[0] is not None
        }
        users = nd.array([name in rows for name in all_rows])
        self._kvstore.sum_up(
            ["how many ranks use a parameter", *all_rows],
            [[users], *all_rows.values()],
            optimizer=self._optimizer,
        )
        self._of_other_buckets = [], [], []
        if len(rows) < len(all_rows):
            for count, (name, grads) in zip(users.asnumpy(), all_rows.items()):
                if count and name not in rows:
                    for column, each in zip(self._of_other_buckets, (name, grads, weights[name])):
                        column.append(each)

    def _update_other_buckets(self):
        """Update the parameters that only the buckets of other ranks use."""
        names, grads, weights = self._of_other_buckets
        numbers = [self._param_index[name] for name in names]
        updater = self._updater if self._shards is None else self._update_own_shard
        _update_params(weights, grads, updater, len(self._context), None, names, numbers)
        self._of_other_buckets = [], [], []

    # --- states sharded over the ranks ---

    def _distribute_states(self):
        """Distribute the states of a new optimizer over the ranks."""
        self._shards = None
        store = self._kvstore
        if not (self._shard_states and isinstance(store, DistKVStore) and store.num_workers > 1):
            return
        check_shardable("Module", self._optimizer)
        group = self._exec_group
        rows = list(zip(self._param_names, group.param_arrays, group.grad_arrays))
        whole = {name for name, *arrays in rows if any(map(_has_sparse_array, arrays))}
        shapes = {name: tuple(weights[0].shape) for name, weights, _ in rows}
        self._shards = Shards(
            store, self._optimizer, shapes, whole, self._param_names, len(self._context)
        )

    def _update_own_shard(self, keys, grads, weights):
        """Update the weights whose states this rank has."""
        self._updater(*self._shards.owned_updates(self._optimizer, keys, grads, weights))

    def _broadcast_updates(self):
        """Broadcast from each rank the weights it has updated, in all buckets."""
        if self._shards is not None:
            module = self._lender or self
            rows = zip(module._param_names, module._exec_group.param_arrays, module._grad_arrays)
            self._shards.send_weights(
                {name: arrays for name, arrays, grads in rows if grads[0] is not None}
            )

    def _keep_own_states(self):
        """Reduce loaded states of all ranks to this rank's shard."""
        if self._shards is not None:
            self._updater.replace_states(self._shards.pick_own_states(self._updater.states), None)

    def gather_states(self) -> None:
        """Collect the optimizer's states of all ranks on this rank, until the next step.

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
        updater = self._updater_with_states("gather_states")
        if self._shards is not None:
            copies = len(self._context)
            keys = [i * copies + k for i in self._param_index.values() for k in range(copies)]
            self._shards.gather_all_states(updater, keys)

    def _gather_states(self):
        if self._shards is not None:
            self.gather_states()

    def _updater_to_save(self, purpose):
        """Return the Updater with the states of all ranks, for a file."""
        updater = self._updater_with_states(purpose)
        if self._shards is None:
            return updater
        if self._shards.gathered is None:
            raise StateError(
                f"{purpose}: the states are shared out over the ranks; all of them call"
                " module.gather_states() before one writes them, as fit does when an epoch ends"
            )
        return self._shards.gathered


def _has_sparse_array(arrays):
    return arrays[0] is not None and arrays[0].stype != "default"
