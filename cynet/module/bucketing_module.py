"""BucketingModule: one Module for each kind of input, such as each sequence length."""

from __future__ import annotations

import logging
import time
from contextlib import nullcontext
from threading import get_ident
from typing import TYPE_CHECKING, Any

from .. import symbol as sym
from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.kinds import check_flag
from ..executor.plan_cache import PlanCache
from ..io.checkpoint import checked_prefix, load_params, save_checkpoint, states_path
from ..name import NameManager
from .base_module import DEFAULT_INITIALIZER, BaseModule
from .bucket_files import load_buckets, save_buckets
from .module import Module
from .step_methods import StepMethods

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import (
        ContextLike,
        DataBatch,
        DataDesc,
        DataShapes,
        FileName,
        GradReq,
        InitializerLike,
        KVStoreLike,
        Logger,
        MetricLike,
        Monitor,
        NamedArrays,
        Names,
        NDArray,
        Optimizer,
        OptimizerParams,
        Shape,
        Symbol,
    )


class Bucket:  # its module, as an entry of a PlanCache
    """The module of a bucket, as an entry of a PlanCache.

    Its executors take `nbytes`; `cached_results` is what they share with others.
    """

    def __init__(self, module):
        self.module = module

    @property
    def nbytes(self):
        return self.module._exec_group.nbytes

    @property
    def cached_results(self):
        return self.module._exec_group.cached_results


class BucketingModule(BaseModule):
    """Modules for several bucket keys, which share parameters.

    Threads may share it as they may a :class:`Module`.

    Parameters
    ----------
    sym_gen : callable
        ``sym_gen(bucket_key)`` returns (symbol, data_names, label_names). It is called once a key.
    default_bucket_key : hashable
        The key of the largest bucket, whose memory the others use. All parameters of the other
        buckets must be among those of this one.
    logger, context, work_load_list, fixed_param_names, state_names, group2ctxs, \
compression_params, shard_states
        Passed to the :class:`Module` of each bucket.

    Raises
    ------
    ArgumentError
        `default_bucket_key` is missing, or `data_names` of its bucket are not arguments of its
        symbol.
    ArgumentTypeError
        `sym_gen` is not a function, or returns something other than three values.

    Examples
    --------
    Sequences of 5 and of 3 steps, whose networks share the weights of one LSTM:

    >>> cell = mx.rnn.LSTMCell(4, prefix="lstm_")
    >>> def sym_gen(length):
    ...     cell.reset()
    ...     outputs, _ = cell.unroll(length, mx.sym.Variable("data"), layout="NTC")
    ...     net = mx.sym.FullyConnected(outputs[-1], num_hidden=2, name="fc")
    ...     return mx.sym.SoftmaxOutput(net, name="softmax"), ["data"], ["softmax_label"]
    >>> module = mx.mod.BucketingModule(sym_gen, default_bucket_key=5)
    >>> module.bind([("data", (2, 5, 3))], [("softmax_label", (2,))])
    >>> module.init_params()
    >>> module.init_optimizer()
    >>> def batch(length):
    ...     data, label = mx.nd.ones((2, length, 3)), mx.nd.zeros(2)
    ...     return mx.io.DataBatch(
    ...         [data],
    ...         [label],
    ...         bucket_key=length,
    ...         provide_data=[("data", data.shape)],
    ...         provide_label=[("softmax_label", label.shape)],
    ...     )
    >>> for length in (5, 3, 5):
    ...     module.train_step(batch(length))
    >>> len(module.get_params()[0]), module.data_shapes[0].shape
    (6, (2, 5, 3))

    A bucket is chosen without a batch by ``switch_bucket``:

    >>> module.switch_bucket(3, [("data", (2, 3, 3))], [("softmax_label", (2,))])
    >>> module.data_shapes[0].shape
    (2, 3, 3)
    """

    def __init__(
        self,
        sym_gen: Callable[[Any], tuple[Symbol, Names | None, Names | None]],
        default_bucket_key: Any = None,
        logger: Logger = logging,
        context: ContextLike | Sequence[ContextLike] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Names | None = None,
        state_names: Names | None = None,
        group2ctxs: Any = None,
        compression_params: dict[str, Any] | None = None,
        shard_states: bool = False,
    ) -> None:
        super().__init__(logger)
        check_flag("BucketingModule", "shard_states", shard_states)
        if not callable(sym_gen) or isinstance(sym_gen, sym.Symbol):
            raise ArgumentTypeError(
                "BucketingModule: sym_gen must be a function of the bucket key that returns"
                f" (symbol, data_names, label_names), got {type(sym_gen).__name__}"
            )
        if default_bucket_key is None:
            raise ArgumentError("BucketingModule: default_bucket_key is missing")
        self._sym_gen = sym_gen
        self._default_bucket_key = default_bucket_key
        self._settings = {
            "logger": logger,
            "context": context,
            "work_load_list": work_load_list,
            "fixed_param_names": fixed_param_names,
            "state_names": state_names,
            "group2ctxs": group2ctxs,
            "compression_params": compression_params,
            "shard_states": shard_states,
        }
        # bucket key -> cached result of sym_gen: a second call may choose other names
        self._generated = {}
        self._monitor = None
        self._grad_req = "write"
        self._loaded = self._preload_opt_states = None
        self._clear_bound_state()
        self._make_module(default_bucket_key)  # raises for wrong names now

    def _clear_bound_state(self):
        self.binded = False
        self._default = None
        self._bucket_cache = PlanCache()  # key -> Bucket; an evicted one is bound again when needed
        self._bound_keys = {}  # all keys that were bound, in order
        self._curr_module = None
        self._curr_bucket_key = None

    def _generate_symbol(self, bucket_key):
        """Return (symbol, data_names, label_names) of a bucket."""
        if bucket_key in self._generated:
            return self._generated[bucket_key]
        # automatic names are shared by all buckets
        fresh = type(NameManager.current) is NameManager
        with NameManager() if fresh else nullcontext():
            made = self._sym_gen(bucket_key)
        if not isinstance(made, (list, tuple)) or len(made) != 3:
            raise ArgumentTypeError(
                "BucketingModule: sym_gen(bucket_key) must return (symbol, data_names,"
                f" label_names), got {type(made).__name__}"
            )
        self._generated[bucket_key] = made
        return made

    def _make_module(self, bucket_key):
        symbol, data_names, label_names = self._generate_symbol(bucket_key)
        return Module(symbol, data_names, label_names, **self._settings)

    def _bucket_module_of(self, bucket_key):
        if bucket_key == self._default_bucket_key:
            return self._default
        bucket = self._bucket_cache.get(bucket_key)
        return None if bucket is None else bucket.module

    @property
    def _buckets(self):
        """Dict of bucket key to Module, which packages for MXNet read."""
        buckets = {key: self._bucket_cache.get(key) for key in self._bucket_cache}
        found = {key: bucket.module for key, bucket in buckets.items() if bucket is not None}
        return {} if self._default is None else {self._default_bucket_key: self._default, **found}

    def _all_modules(self):
        return [self._default, *(bucket.module for bucket in self._bucket_cache.values())]

    @property
    def data_names(self) -> list[str]:
        if self.binded:
            return self._curr_module.data_names
        return list(self._generate_symbol(self._default_bucket_key)[1])

    @property
    def output_names(self) -> list[str]:
        if self.binded:
            return self._curr_module.output_names
        return self._generate_symbol(self._default_bucket_key)[0].list_outputs()

    def bind(
        self,
        data_shapes: DataShapes,
        label_shapes: DataShapes | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: BaseModule | None = None,
        grad_req: GradReq = "write",
    ) -> None:
        """Bind the default bucket; other buckets are bound at their first batch."""
        if shared_module is not None:
            raise ArgumentError("BucketingModule.bind: shared_module is not supported")
        params = self.get_params() if self.params_initialized and self.binded else None
        if force_rebind:
            self._clear_bound_state()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._grad_req = grad_req
        module = self._make_module(self._default_bucket_key)
        module.bind(data_shapes, label_shapes, for_training, inputs_need_grad, grad_req=grad_req)
        self._curr_module = self._default = module
        self._bound_keys[self._default_bucket_key] = True
        self._curr_bucket_key = self._default_bucket_key
        self.binded = True
        params = params or self._loaded
        if params is not None:
            self.set_params(*params)

    def switch_bucket(
        self, bucket_key: Any, data_shapes: DataShapes, label_shapes: DataShapes | None = None
    ) -> None:
        """Make a bucket's module the current module; bind it if it is new.

        ``forward``, ``forward_backward`` and ``train_step`` do it with the batch's ``bucket_key``.

        Parameters
        ----------
        bucket_key : hashable
            What ``sym_gen`` is called with.
        data_shapes : list of (str, tuple) or DataDesc
            Names and shapes of the inputs; a bucket that is bound already keeps its own.
        label_shapes : list of (str, tuple) or DataDesc, optional
            Names and shapes of the labels.

        Raises
        ------
        CynetError
            The module is not bound yet.
        ArgumentError
            The bucket has a parameter that the default bucket has not.
        """
        self._require_state("switch_bucket", "binded")
        module = self._bucket_module_of(bucket_key)
        if module is None:
            since = time.perf_counter()
            module = self._make_module(bucket_key)
            module._plans_apart = False
            if self.params_initialized:
                self._refuse_new_parameters(module, bucket_key)
            module.bind(
                data_shapes,
                label_shapes,
                self.for_training,
                self.inputs_need_grad,
                shared_module=self._default,
                grad_req=self._grad_req,
            )
            if self._monitor is not None:
                module.install_monitor(self._monitor)
            self._bucket_cache.add_plan(bucket_key, Bucket(module), time.perf_counter() - since)
            self._bound_keys[bucket_key] = True
        if self.optimizer_initialized and not module.optimizer_initialized:
            module.borrow_optimizer(self._default)
        if self.params_initialized and not module.params_initialized:
            # it may have been bound before the default bucket had values
            self._refuse_new_parameters(module, bucket_key)
            module.params_initialized = True
            self._default.get_params()  # synchronizes the values from the devices
            module._arg_params = self._default._arg_params
            module._aux_params = self._default._aux_params
        self._curr_module = module
        self._curr_bucket_key = bucket_key

    def _refuse_new_parameters(self, module, bucket_key):
        """Refuse a bucket with additional parameters, which would not be initialized."""
        module._require_values_of_all(
            (*self._default._param_names, *self._default._aux_names),
            f"bucket {shown(bucket_key)}: the default bucket, whose parameters all buckets share,"
            " has no parameter",
        )

    def init_params(
        self,
        initializer: InitializerLike | None = DEFAULT_INITIALIZER,
        arg_params: NamedArrays | None = None,
        aux_params: NamedArrays | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Initialise the parameters that all buckets share."""
        if self.params_initialized and not force_init:
            return
        self._require_state("init_params", "binded")
        self._default.init_params(
            initializer, arg_params, aux_params, allow_missing, force_init, allow_extra
        )
        self.params_initialized = True

    def set_params(
        self,
        arg_params: NamedArrays,
        aux_params: NamedArrays,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        if not allow_missing or (self.params_initialized and not force_init):
            super().set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)
            return
        self._require_state("set_params", "binded")
        self._default.set_params(arg_params, aux_params, True, force_init, allow_extra)
        self.params_initialized = True

    def get_params(self) -> tuple[NamedArrays, NamedArrays]:
        """Return (arg_params, aux_params), which all buckets share."""
        self._require_state("get_params", "params_initialized")
        if not self.binded:
            return self._loaded
        self._default._params_dirty = True  # any bucket may have updated the parameters
        return self._default.get_params()

    def init_optimizer(
        self,
        kvstore: KVStoreLike | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Set the optimizer that ``update`` applies."""
        self._require_state("init_optimizer", "binded", "params_initialized")
        if self._should_keep_optimizer(kvstore, optimizer, optimizer_params, force_init):
            return
        self._default._preload_opt_states = self._preload_opt_states
        self._preload_opt_states = None
        self._default.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        self._default._module_with_all_parameters()
        for module in self._all_modules():
            if module is not self._default:
                module.borrow_optimizer(self._default)
        self.optimizer_initialized = True

    def _make_label_check(self, train_data):
        return self._default._make_label_check(train_data)

    def prepare(
        self, data_batch: DataBatch | Any, sparse_row_id_fn: Callable[..., Any] | None = None
    ) -> None:
        """Bind the batch's bucket if it is new."""
        self._require_state("prepare", "binded", "params_initialized")
        with self._thread_guard.lock:
            current = self._curr_module, self._curr_bucket_key
            self._prepare_bucket(data_batch)
            self._curr_module, self._curr_bucket_key = current

    def _prepare_bucket(self, batch):
        key = getattr(batch, "bucket_key", None)
        if key is None:
            raise ArgumentError(
                "BucketingModule: the batch has no bucket_key; DataBatch(..., bucket_key=...,"
                " provide_data=..., provide_label=...) says which symbol is for it"
            )
        self.switch_bucket(key, batch.provide_data, batch.provide_label)

    def _updater_with_states(self, purpose):
        self._require_state(purpose, "optimizer_initialized")
        return self._default._updater_with_states(purpose)

    def _updater_to_save(self, purpose):
        self._require_state(purpose, "optimizer_initialized")
        return self._default._updater_to_save(purpose)

    def _gather_states(self):
        self._default._gather_states()

    def gather_states(self) -> None:
        """Collect the optimizer's states of all ranks on this rank, until the next step; see
        `Module.gather_states`.

        Examples
        --------
        >>> def sym_gen(length):
        ...     total = mx.sym.sum(mx.sym.Variable("data"), axis=1, keepdims=True)
        ...     return mx.sym.FullyConnected(total, num_hidden=2, name="fc"), ["data"], None
        >>> module = mx.mod.BucketingModule(sym_gen, default_bucket_key=5, shard_states=True)
        >>> module.bind([("data", (1, 5))])
        >>> module.init_params()
        >>> module.init_optimizer(kvstore="dist_sync")
        >>> module.gather_states()
        """
        self._require_state("gather_states", "optimizer_initialized")
        self._default.gather_states()

    def _replace_optimizer(self, optimizer):
        for module in self._all_modules():
            module._replace_optimizer(optimizer)

    def install_monitor(self, mon: Monitor) -> None:
        """Install a Monitor on all buckets, including later ones."""
        self._require_state("install_monitor", "binded")
        self._monitor = mon
        for module in self._all_modules():
            module.install_monitor(mon)

    def save_checkpoint(
        self,
        prefix: FileName,
        epoch: int,
        save_optimizer_states: bool = False,
        remove_amp_cast: bool = False,
    ) -> None:
        """Write the parameters, and the symbols of all bound buckets.

        The files are those of MXNet: ``prefix-KEY-symbol.json`` for each bucket, their keys as an
        array in ``prefix.buckets`` (where they are ints, or tuples of as many ints) and
        ``prefix-0001.params``; ``prefix-symbol.json``, the symbol of the default bucket, and if
        asked for ``prefix-0001.states`` are as for a :class:`Module`.

        Parameters
        ----------
        save_optimizer_states : bool
            Also write ``prefix-0003.states``, from which `load` lets training continue.

        Raises
        ------
        CynetError
            The parameters have no values yet, or no optimizer has states to write.

        Examples
        --------
        >>> import os
        >>> def sym_gen(length):
        ...     total = mx.sym.sum(mx.sym.Variable("data"), axis=1, keepdims=True)
        ...     return mx.sym.FullyConnected(total, num_hidden=2, name="fc"), ["data"], None
        >>> module = mx.mod.BucketingModule(sym_gen, default_bucket_key=5)
        >>> module.bind([("data", (1, 5))], for_training=False)
        >>> module.init_params()
        >>> module.switch_bucket(3, [("data", (1, 3))])
        >>> module.save_checkpoint("net", 1)
        >>> len(os.listdir(".")), sorted(os.listdir("."))[:3]
        (5, ['net-0001.params', 'net-3-symbol.json', 'net-5-symbol.json'])
        """
        self._require_state("save_checkpoint", "params_initialized")
        updater = None
        if save_optimizer_states:
            updater = self._updater_to_save("save_checkpoint")
        prefix = checked_prefix(prefix)
        keys = [self._default_bucket_key, *self._bound_keys]
        save_buckets(prefix, {key: self._generate_symbol(key)[0] for key in keys}, remove_amp_cast)
        symbol = self._generate_symbol(self._default_bucket_key)[0]
        save_checkpoint(prefix, epoch, symbol, *self.get_params(), remove_amp_cast, updater)

    @staticmethod
    def load(
        prefix: FileName,
        epoch: int,
        sym_gen: Callable[[Any], tuple[Symbol, Names | None, Names | None]] | None = None,
        default_bucket_key: Any = None,
        load_optimizer_states: bool = False,
        **kwargs: Any,
    ) -> BucketingModule:
        """Load a bucketing module from a checkpoint of cynet or MXNet.

        Parameters
        ----------
        sym_gen : callable, optional
            Makes the symbols of buckets that the checkpoint does not have, and says the names of
            inputs; without it these are ``data`` and ``softmax_label``, and other buckets use the
            symbol of the default one.
        default_bucket_key : hashable, optional
            The first of the checkpoint by default.
        **kwargs
            Arguments of ``BucketingModule``.

        Returns
        -------
        BucketingModule
            Its parameters have values; ``bind`` comes next.

        Raises
        ------
        MissingFileError
            There is no file of this prefix and epoch.
        FormatError
            A file is damaged, or of something else.

        Examples
        --------
        >>> def sym_gen(length):
        ...     total = mx.sym.sum(mx.sym.Variable("data"), axis=1, keepdims=True)
        ...     return mx.sym.FullyConnected(total, num_hidden=2, name="fc"), ["data"], None
        >>> module = mx.mod.BucketingModule(sym_gen, default_bucket_key=5)
        >>> module.bind([("data", (1, 5))], for_training=False)
        >>> module.init_params(mx.init.One())
        >>> module.save_checkpoint("net", 1)
        >>> module = mx.mod.BucketingModule.load("net", 1, sym_gen)
        >>> module.bind([("data", (1, 5))], for_training=False)
        >>> short = [("data", (1, 3))]
        >>> module.forward(mx.io.DataBatch([mx.nd.ones((1, 3))], bucket_key=3, provide_data=short))
        >>> module.get_outputs()[0].asnumpy()
        array([[3., 3.]], dtype=float32)
        """
        prefix = checked_prefix(prefix)
        symbols = load_buckets(prefix)
        if default_bucket_key is None:
            default_bucket_key = next(iter(symbols), None)
        if sym_gen is None and default_bucket_key not in symbols:
            symbols[default_bucket_key] = sym.load(f"{prefix}-symbol.json")
        params = load_params(prefix, epoch)
        module = BucketingModule.load_dict(symbols, sym_gen, default_bucket_key, *params, **kwargs)
        if load_optimizer_states:
            module._preload_opt_states = states_path(prefix, epoch)
        return module

    @staticmethod
    def load_dict(
        sym_dict: dict[Any, Symbol] | None = None,
        sym_gen: Callable[[Any], tuple[Symbol, Names | None, Names | None]] | None = None,
        default_bucket_key: Any = None,
        arg_params: NamedArrays | None = None,
        aux_params: NamedArrays | None = None,
        **kwargs: Any,
    ) -> BucketingModule:
        """Make a bucketing module from symbols and parameters.

        Parameters
        ----------
        sym_dict : dict of bucket key to Symbol, optional
            Symbols that are used instead of those of `sym_gen`.
        sym_gen, default_bucket_key
            See `load`; the default key is the first of `sym_dict`.
        arg_params, aux_params : dict of str to NDArray, optional
            Values of parameters and auxiliary states, which ``bind`` puts in place.
        **kwargs
            Arguments of ``BucketingModule``.

        Returns
        -------
        BucketingModule
            If parameters were given, it has values, and ``bind`` comes next.

        Raises
        ------
        ArgumentError
            There is neither a `sym_gen` nor a symbol of the default bucket.

        Examples
        --------
        >>> def network(length):
        ...     total = mx.sym.sum(mx.sym.Variable("data"), axis=1, keepdims=True)
        ...     total = mx.sym.FullyConnected(total, num_hidden=1, no_bias=True, name="fc")
        ...     return mx.sym.LinearRegressionOutput(total, name="softmax")
        >>> module = mx.mod.BucketingModule.load_dict(
        ...     {5: network(5), 3: network(3)}, arg_params={"fc_weight": mx.nd.array([[2]])}
        ... )
        >>> module.bind([("data", (1, 5))], for_training=False)
        >>> short = [("data", (1, 3))]
        >>> module.forward(mx.io.DataBatch([mx.nd.ones((1, 3))], bucket_key=3, provide_data=short))
        >>> module.get_outputs()[0].asscalar().item()
        6.0
        """
        symbols = dict(sym_dict or {})
        if default_bucket_key is None:
            default_bucket_key = next(iter(symbols), None)
        if sym_gen is None:
            default = symbols.get(default_bucket_key)
            if default is None:
                raise ArgumentError(
                    "BucketingModule.load_dict: give a sym_gen, or in sym_dict the symbol of the"
                    f" default bucket {shown(default_bucket_key)}"
                )

            def sym_gen(_):
                return default, ("data",), ("softmax_label",)

        def generate(key):
            made = sym_gen(key)
            saved = symbols.get(key)
            return made if saved is None else (saved, *made[1:])

        module = BucketingModule(generate, default_bucket_key, **kwargs)
        if arg_params is not None or aux_params is not None:
            module._loaded = dict(arg_params or {}), dict(aux_params or {})
            module.params_initialized = True
        return module

    # --- the current bucket ---

    @property
    def data_shapes(self) -> list[DataDesc]:
        self._require_state("data_shapes", "binded")
        return self._curr_module.data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        self._require_state("label_shapes", "binded")
        return self._curr_module.label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, Shape]]:
        self._require_state("output_shapes", "binded")
        return self._curr_module.output_shapes

    @property
    def symbol(self) -> Symbol:
        """The symbol of the current bucket."""
        self._require_state("symbol", "binded")
        return self._curr_module.symbol

    def _switch_to_batch(self, batch):
        """Switch to the bucket of a batch; the caller holds the lock."""
        if self._thread_guard.last != get_ident():
            # each inner module detaches its own outputs
            self._thread_guard.claim_outputs(lambda: None)
        self._prepare_bucket(batch)

    def forward(self, data_batch: DataBatch | Any, is_train: bool | None = None) -> None:
        """Run the module of the batch's bucket."""
        self._require_state("forward", "binded", "params_initialized")
        with self._thread_guard.lock:
            self._switch_to_batch(data_batch)
            self._curr_module.forward(data_batch, is_train=is_train)

    def forward_backward(self, data_batch: DataBatch | Any) -> None:
        """Run forward and backward in the module of the batch's bucket."""
        if not _STEP_METHODS.are_not_overridden(self, "forward_backward"):
            super().forward_backward(data_batch)
            return
        self._require_state("forward_backward", "binded", "params_initialized")
        with self._thread_guard.lock:
            self._switch_to_batch(data_batch)
            self._curr_module.forward_backward(data_batch)

    def train_step(self, data_batch: DataBatch | Any) -> None:
        """Run a training step in the module of the batch's bucket."""
        if not _STEP_METHODS.are_not_overridden(self, "train_step"):
            super().train_step(data_batch)
            return
        self._require_state("train_step", "binded", "params_initialized", "optimizer_initialized")
        with self._thread_guard.lock:
            self._switch_to_batch(data_batch)
            self._curr_module.train_step(data_batch)

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Run backward in the bucket of the last forward."""
        self._require_state("backward", "binded", "params_initialized")
        with self._thread_guard.lock:
            self._thread_guard.check_owner_thread("backward")
            self._curr_module.backward(out_grads)

    def update(self) -> None:
        """Change the shared parameters along the last gradients."""
        self._require_state("update", "binded", "params_initialized", "optimizer_initialized")
        self._curr_module.update()

    def clip_gradients(self, max_norm: float) -> NDArray:
        return self._curr_module.clip_gradients(max_norm)

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        self._require_state("get_outputs", "binded", "params_initialized")
        with self._thread_guard.lock:
            self._thread_guard.check_owner_thread("get_outputs")
            return self._curr_module.get_outputs(merge_multi_context)

    def _remove_padding(self, outputs, pad):
        return self._curr_module._remove_padding(outputs, pad)

    def _output_concat_axes(self, outputs):
        return self._curr_module._output_concat_axes(outputs)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the gradients of the data of the last forward."""
        self._require_state("get_input_grads", "binded", "params_initialized")
        with self._thread_guard.lock:
            self._thread_guard.check_owner_thread("get_input_grads")
            return self._curr_module.get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the values of the state inputs of the current bucket."""
        self._require_state("get_states", "binded", "params_initialized")
        return self._curr_module.get_states(merge_multi_context)

    def set_states(self, states: Sequence[Any] | None = None, value: Any = None) -> None:
        """Fill the state inputs of the current bucket."""
        self._require_state("set_states", "binded", "params_initialized")
        self._curr_module.set_states(states, value)

    def update_metric(
        self, eval_metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        self._require_state("update_metric", "binded", "params_initialized")
        with self._thread_guard.lock:
            self._thread_guard.check_owner_thread("update_metric")
            self._curr_module.update_metric(eval_metric, labels, pre_sliced)


_STEP_METHODS = StepMethods(BucketingModule)
