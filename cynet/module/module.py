"""Module: a Symbol with its parameters, trained on one or several devices."""

from __future__ import annotations

import logging
import re
from threading import get_ident
from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from .. import optimizer as opt
from ..base.errors import ArgumentError, ArgumentTypeError, ShapeError, listed, shown, warn_user
from ..base.guard import refuse
from ..base.kinds import check_flag
from ..context import cpu, read_context
from ..engine.trace import Span
from ..initializer import InitDesc, create
from ..io import DataDesc
from ..io.checkpoint import load_checkpoint, states_path
from ..kvstore import DistKVStore
from ..ndarray.sparse.convert import as_row_sparse
from ..symbol import Symbol
from ..symbol.node import fixed_arguments, topological_order
from .base_module import DEFAULT_INITIALIZER, BaseModule
from .batch_axes import checked_pad
from .executor_group import DataParallelExecutorGroup
from .inputs import _check_input_names, _parse_data_desc, check_monitor, checked_name_list
from .labels import class_limits, label_inputs, make_label_check
from .optimization import Optimization
from .parameter_update import _sum_over_devices, _update_params, _update_params_on_kvstore
from .step_methods import StepMethods

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import (
        ContextLike,
        DataBatch,
        DataShapes,
        FileName,
        GradReq,
        InitializerLike,
        Logger,
        MetricLike,
        Monitor,
        NamedArrays,
        Names,
        NDArray,
        Shape,
    )

_UPDATE_SPAN = Span("update", "training")


_DIGITS = re.compile(r"\d+")  # numbers in the names of parameters


class Module(Optimization, BaseModule):
    """A Symbol with parameters.

    Threads may share it for ``predict``, ``score`` and ``iter_predict``, also while one of them
    trains; around ``forward`` and what follows it they need a lock of their own.

    Parameters
    ----------
    symbol : Symbol
        The network.
    data_names, label_names : list of str
        Arguments that are fed with data and labels. All others are parameters, except labels of
        losses that are not listed anywhere: a prediction needs none.
    context : Context, str (``'cpu'``, ``'gpu(1)'``) or list of these, optional
        Devices; several split each batch among them. The CPU by default.
    work_load_list : list of number, optional
        Share of the batch for each context; equal by default.
    fixed_param_names : list of str, optional
        Parameters that are not trained.
    state_names : list of str, optional
        Inputs that are neither data nor parameters: `set_states` fills them.
    group2ctxs : dict or list of dict, optional
        Context of each group of ``mx.AttrScope(ctx_group=...)``.
    compression_params : dict, optional
        Passed to the KVStore: ``{"type": "2bit", "threshold": 0.5}``.
    shard_states : bool
        Of several ranks each keeps the optimizer's states of a part of the parameters, updates
        these and gives them to the others; see `gather_states`.

    Raises
    ------
    ArgumentTypeError
        `symbol` is not a Symbol.
    ArgumentError
        `work_load_list` is not as long as `context`, or one of `data_names`, `state_names` and
        `fixed_param_names` is not an argument of the symbol. An unknown label only warns.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> mod = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> mod.bind([("data", (4, 3))], [("softmax_label", (4,))])
    >>> mod.init_params()
    >>> mod.forward(mx.io.DataBatch([mx.nd.ones((4, 3))], [mx.nd.zeros(4)]))
    >>> mod.get_outputs()[0].shape, mod.label_names
    ((4, 2), ['softmax_label'])
    """

    def __init__(
        self,
        symbol: Symbol,
        data_names: Names | None = ("data",),
        label_names: Names | None = ("softmax_label",),
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
        check_flag("Module", "shard_states", shard_states)
        self._shard_states = shard_states
        if not isinstance(symbol, Symbol):
            raise ArgumentTypeError(
                "Module: symbol must be a Symbol, the network that mx.sym makes, got"
                f" {type(symbol).__name__}"
            )
        contexts = [cpu()] if context is None else context
        several = isinstance(contexts, (list, tuple))
        self._context = [read_context(each) for each in (contexts if several else [contexts])]
        self._work_load_list = work_load_list or [1] * len(self._context)
        if len(self._work_load_list) != len(self._context):
            raise ArgumentError(
                f"work_load_list has {len(self._work_load_list)} entries for"
                f" {len(self._context)} contexts"
            )
        self._symbol = symbol
        self._data_names = checked_name_list("data_names", data_names)
        self._label_names = checked_name_list("label_names", label_names)
        self._fixed_param_names = checked_name_list("fixed_param_names", fixed_param_names)
        self._state_names = checked_name_list("state_names", state_names)
        for names, kind, throw in (
            (self._data_names, "data", True),
            (self._label_names, "label", False),
            (self._state_names, "state", True),
            (self._fixed_param_names, "fixed_param", True),
        ):
            _check_input_names(symbol, names, kind, throw)
        arguments = symbol.list_arguments()
        inputs = {*self._data_names, *self._label_names, *self._state_names}
        unlisted = label_inputs(symbol).difference(inputs, self._fixed_param_names)
        self._wanted_labels = [
            *(name for name in self._label_names if name in arguments),
            *(name for name in arguments if name in unlisted),
        ]
        inputs |= unlisted
        self._param_names = [name for name in arguments if name not in inputs]
        params, fixed = set(self._param_names), fixed_arguments(topological_order(symbol.entries))
        self._fixed_values = {n: number for n, number in fixed.items() if n in params}
        self._aux_names = symbol.list_auxiliary_states()
        self._output_names = symbol.list_outputs()
        self._group2ctxs = group2ctxs
        self._compression_params = compression_params
        self._arg_params = None
        self._aux_params = None
        self._params_dirty = False
        # index of a parameter in the updater; a borrowed optimizer has its own indices
        self._param_index = {name: i for i, name in enumerate(self._param_names)}
        self._optimizer = self._kvstore = self._update_on_kvstore = self._updater = None
        self._preload_opt_states = None
        self._is_summed = False  # whether ranks have summed the gradients of the last backward
        self._lender = None  # the module that owns the shared optimizer
        self._of_other_buckets = [], [], []  # names, gradients and weights of other ranks' buckets
        self._clear_bound_state()

    def _clear_bound_state(self):
        self.binded = False
        self._exec_group = None
        self._data_shapes = None
        self._label_shapes = None

    @staticmethod
    def load(
        prefix: FileName, epoch: int, load_optimizer_states: bool = False, **kwargs: Any
    ) -> Module:
        """Load a module from a checkpoint, with parameters; call ``bind`` next.

        Parameters
        ----------
        **kwargs
            Arguments of ``Module``: `data_names`, `label_names`, `context`, ...

        Raises
        ------
        MissingFileError
            There is no file of this prefix and epoch.
        FormatError
            A file is damaged, or of something else.

        Examples
        --------
        >>> data = mx.sym.Variable("data")
        >>> net = mx.sym.FullyConnected(data, num_hidden=1, no_bias=True, name="fc")
        >>> mx.model.save_checkpoint("net", 3, net, {"fc_weight": mx.nd.array([[1, 10]])}, {})
        >>> module = mx.mod.Module.load("net", 3, label_names=None)
        >>> module.bind([("data", (1, 2))], for_training=False)
        >>> module.predict(mx.nd.array([[2, 3]])).asscalar().item()
        32.0
        """
        symbol, args, auxs = load_checkpoint(prefix, epoch)
        module = Module(symbol=symbol, **kwargs)
        module._arg_params, module._aux_params = args, auxs
        module.params_initialized = True
        if load_optimizer_states:
            module._preload_opt_states = states_path(prefix, epoch)
        return module

    # --- names and shapes ---

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return self._label_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        self._require_state("data_shapes", "binded")
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        self._require_state("label_shapes", "binded")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, Shape]]:
        self._require_state("output_shapes", "binded")
        return self._exec_group.get_output_shapes()

    # --- binding ---

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
        """Bind the module to input shapes, and allocate memory.

        Parameters
        ----------
        data_shapes, label_shapes : list of DataDesc or (name, shape)
        for_training : bool
            Without it there are no gradients.
        inputs_need_grad : bool
            Also compute gradients of the data.
        force_rebind : bool
            Bind anew; else a second call changes nothing.
        shared_module : Module, optional
            Use its parameters' memory.
        grad_req : str, list or dict
            ``'write'``, ``'add'`` or ``'null'``, for all or for each argument.
        """
        if force_rebind:
            if self.params_initialized and self._params_dirty:
                self._sync_params_from_devices()
            self._clear_bound_state()
        if self.binded:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if inputs_need_grad and not for_training:
            raise ArgumentError("bind: inputs_need_grad=True needs for_training=True")
        data_shapes, label_shapes = _parse_data_desc(
            self._data_names, self._label_names, data_shapes, label_shapes
        )
        shared_group = None
        if shared_module is not None:
            if not isinstance(shared_module, Module) or not shared_module.binded:
                raise ArgumentTypeError("bind: shared_module must be a Module that is bound")
            if shared_module.params_initialized:
                self._require_values_of_all(
                    (*shared_module._param_names, *shared_module._aux_names),
                    "bind: shared_module has no parameter",
                )
            shared_group = shared_module._exec_group
            if len(shared_group.execs) < len(self._context):
                raise ArgumentError(
                    f"bind: shared_module is on {len(shared_group.execs)} devices,"
                    f" this one on {len(self._context)}"
                )
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._grad_req = grad_req
        self._exec_group = DataParallelExecutorGroup(
            self._symbol,
            self._context,
            self._work_load_list,
            data_shapes,
            label_shapes,
            self._param_names,
            for_training,
            inputs_need_grad,
            shared_group,
            logger=self.logger,
            fixed_param_names=self._fixed_param_names,
            grad_req=grad_req,
            state_names=self._state_names,
            group2ctxs=self._group2ctxs,
            wanted_labels=self._wanted_labels,
            apart=self._plans_apart,
        )
        self._data_shapes, self._label_shapes = data_shapes, label_shapes
        self.binded = True
        self._collect_update_arguments()
        if shared_module is not None:
            self.params_initialized = shared_module.params_initialized
            self._arg_params = shared_module._arg_params
            self._aux_params = shared_module._aux_params
        elif self.params_initialized:
            # the values come from a checkpoint or an earlier bind
            self._require_values_of_all(
                (*self._arg_params, *self._aux_params), "bind: there is no value of"
            )
            self._set_fixed_values()
            self._exec_group.set_params(self._arg_params, self._aux_params)
        if shared_module is not None and shared_module.optimizer_initialized:
            self.borrow_optimizer(shared_module)

    def reshape(self, data_shapes: DataShapes, label_shapes: DataShapes | None = None) -> None:
        """Change the input shapes; parameters stay.

        ``forward`` does it by itself for a batch of other shapes. What was computed for the old
        shapes is gone.

        Parameters
        ----------
        data_shapes, label_shapes : list of (str, tuple) or DataDesc
            Names and shapes of a batch's arrays, see `bind`; None if there are no labels.

        Raises
        ------
        CynetError
            The module is not bound yet.
        ArgumentError
            The names are not those of the module.
        ShapeError
            A parameter would have another shape.

        Examples
        --------
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        >>> module = mx.mod.Module(net, label_names=None)
        >>> module.bind([("data", (4, 3))], for_training=False)
        >>> module.init_params()
        >>> module.output_shapes
        [('fc_output', (4, 2))]
        >>> module.reshape([("data", (9, 3))])
        >>> module.output_shapes
        [('fc_output', (9, 2))]
        """
        self._require_state("reshape", "binded")
        shapes = _parse_data_desc(self._data_names, self._label_names, data_shapes, label_shapes)
        self._exec_group.reshape(*shapes)
        self._data_shapes, self._label_shapes = shapes

    # --- running ---

    def forward(self, data_batch: DataBatch | Any, is_train: bool | None = None) -> None:
        """Compute the outputs of a batch; a batch of other shapes reshapes the module.

        Parameters
        ----------
        data_batch : DataBatch
            Anything with ``data``, and ``label`` where there are labels.
        is_train : bool, optional
            As the module was bound, by default.
        """
        self._require_state("forward", "binded", "params_initialized")
        thread_guard = self._thread_guard
        with thread_guard.lock:
            if thread_guard.last != get_ident():
                thread_guard.claim_outputs(self._detach_outputs)
            self._adapt_to_batch_shapes(data_batch)
            self._exec_group.forward(data_batch, is_train)

    def _detach_outputs(self):
        """Leave the last outputs to the thread that has them, and bind new executors."""
        self._exec_group.bind_new_executors()
        self._collect_update_arguments()

    def forward_backward(self, data_batch: DataBatch | Any) -> None:
        """Run forward in training mode, then backward: one step unless a subclass overrides one."""
        if not _STEP_METHODS.are_not_overridden(self, "forward_backward"):
            super().forward_backward(data_batch)
            return
        self._require_state("forward_backward", "binded", "params_initialized")
        thread_guard = self._thread_guard
        with thread_guard.lock:
            if thread_guard.last != get_ident():
                thread_guard.claim_outputs(self._detach_outputs)
            self._adapt_to_batch_shapes(data_batch)
            self._is_summed = False
            group = self._exec_group
            if group.joins_steps:
                group.load_batch(data_batch)
                group.run_step()
            else:
                group.forward(data_batch, True)
                group.backward()

    def train_step(self, data_batch: DataBatch | Any) -> None:
        """Run ``forward_backward``, then ``update``: one step unless a subclass overrides one."""
        if not _STEP_METHODS.are_not_overridden(self, "train_step"):
            super().train_step(data_batch)
            return
        self._require_state("train_step", "binded", "params_initialized", "optimizer_initialized")
        thread_guard = self._thread_guard
        with thread_guard.lock:
            if thread_guard.last != get_ident():
                thread_guard.claim_outputs(self._detach_outputs)
            self._adapt_to_batch_shapes(data_batch)
            self._is_summed = False
            group, update = self._exec_group, None
            if group.joins_steps:
                group.load_batch(data_batch)
                alone = self._kvstore is None and len(self._context) == 1
                if alone and type(self._updater) is opt.Updater:
                    update = self._updater.make_joined_update(*self._updates)
                group.run_step(update)
            else:
                group.forward(data_batch, True)
                group.backward()
            self._params_dirty = True
            if update is None:
                self.update()

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradients of the last forward.

        Parameters
        ----------
        out_grads : NDArray or list of NDArray, optional
            Gradients of the outputs; not needed for losses.
        """
        self._require_state("backward", "binded", "params_initialized")
        with self._thread_guard.lock:
            self._thread_guard.check_owner_thread("backward")
            self._is_summed = False
            self._exec_group.backward(out_grads)

    def update(self) -> None:
        """Change the parameters along the gradients of the last backward."""
        self._require_state("update", "binded", "params_initialized", "optimizer_initialized")
        self._params_dirty = True
        with _UPDATE_SPAN:
            group = self._exec_group
            kvstore = self._kvstore
            if isinstance(kvstore, DistKVStore):
                self._sum_grads_over_ranks()
                kvstore, self._is_summed = None, False
                if self._of_other_buckets[0]:
                    self._update_other_buckets()
            updater = self._updater if self._shards is None else self._update_own_shard
            if kvstore is None and len(self._context) == 1:
                updater(*self._updates)
                self._broadcast_updates()
                return
            if self._kvstore is None:
                for grads in self._grad_arrays:
                    if grads[0] is not None:
                        _sum_over_devices(grads)
            if self._update_on_kvstore:
                _update_params_on_kvstore(
                    group.param_arrays, self._grad_arrays, self._kvstore, self._param_names
                )
            else:
                _update_params(
                    group.param_arrays,
                    self._grad_arrays,
                    updater,
                    len(self._context),
                    kvstore,
                    self._param_names,
                    [self._param_index[name] for name in self._param_names],
                )
                self._broadcast_updates()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the outputs of the last forward.

        Parameters
        ----------
        merge_multi_context : bool
            Join the devices' parts; else a list over devices for each output.
        """
        self._require_state("get_outputs", "binded", "params_initialized")
        with self._thread_guard.lock:
            self._thread_guard.check_owner_thread("get_outputs")
            return self._thread_guard.outputs_for_thread(
                self._exec_group.get_outputs(merge_multi_context)
            )

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the gradients of the data, if bound with ``inputs_need_grad=True``."""
        self._require_state("get_input_grads", "binded", "params_initialized")
        with self._thread_guard.lock:
            self._thread_guard.check_owner_thread("get_input_grads")
            return self._thread_guard.outputs_for_thread(
                self._exec_group.get_input_grads(merge_multi_context)
            )

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the values of the state inputs."""
        self._require_state("get_states", "binded", "params_initialized")
        return self._exec_group.get_states(merge_multi_context)

    def set_states(self, states: Sequence[Any] | None = None, value: Any = None) -> None:
        """Fill the state inputs from arrays or with a number."""
        self._require_state("set_states", "binded", "params_initialized")
        self._exec_group.set_states(states, value)

    def update_metric(
        self, eval_metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Update a metric with labels and the last outputs.

        Parameters
        ----------
        eval_metric : EvalMetric
        labels : list of NDArray
        pre_sliced : bool
            `labels` is a list for each device.
        """
        self._require_state("update_metric", "binded", "params_initialized")
        try:
            with self._thread_guard.lock:
                self._thread_guard.check_owner_thread("update_metric")
                self._exec_group.update_metric(eval_metric, labels, pre_sliced)
        except Exception as error:
            refuse(error, Module.update_metric, self, eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        """Install a Monitor on all executors."""
        self._require_state("install_monitor", "binded")
        check_monitor("install_monitor", mon)
        self._exec_group.install_monitor(mon)

    def _make_label_check(self, train_data):
        limits = class_limits(self._symbol, self.output_shapes)
        return make_label_check(limits, [desc[0] for desc in self._label_shapes or ()], train_data)

    # --- parameters ---

    def get_params(self) -> tuple[NamedArrays, NamedArrays]:
        """Return (arg_params, aux_params): dicts of arrays on the CPU with the present values."""
        self._require_state("get_params", "params_initialized")
        if self.binded and self._params_dirty:
            self._sync_params_from_devices()
        return self._stored_arguments(), self._aux_params

    def _stored_arguments(self):
        """Return the arguments' values for users and files; row_sparse weights stay row_sparse."""
        blocks = zip(self._param_names, self._exec_group.param_arrays) if self.binded else ()
        rows = [name for name, block in blocks if block[0].stype == "row_sparse"]
        if not rows:
            return self._arg_params
        return {**self._arg_params, **{n: as_row_sparse(self._arg_params[n]) for n in rows}}

    def _sync_params_from_devices(self):
        self._exec_group.get_params(self._arg_params, self._aux_params)
        self._params_dirty = False

    def init_params(
        self,
        initializer: InitializerLike | None = DEFAULT_INITIALIZER,
        arg_params: NamedArrays | None = None,
        aux_params: NamedArrays | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Initialize the parameters.

        Parameters
        ----------
        initializer : Initializer, str or callable
            ``initializer(InitDesc, array)``; a str is the name of an Initializer.
        arg_params, aux_params : dict of str to NDArray, optional
            Values to take instead.
        allow_missing : bool
            Leave names that the dicts do not have to the initializer.
        force_init : bool
            Do it even if it has been done.
        allow_extra : bool
            Accepted; names that are no parameters are passed over in any case, as in MXNet, so that
            a part of a network takes the whole network's parameters.
        """
        if self.params_initialized and not force_init:
            if arg_params is not None or aux_params is not None:
                warn_user(
                    "parameters are initialized already; without force_init=True the"
                    " given values are not used"
                )
            return
        self._require_state("init_params", "binded")
        if isinstance(initializer, str):
            initializer = create(initializer)
        elif initializer is not None and (
            not callable(initializer) or isinstance(initializer, type)
        ):
            raise ArgumentTypeError(
                f"init_params: initializer must be an Initializer, as mx.init.Xavier(), or the name"
                f" of one, got {shown(initializer)}"
            )
        for what, given in (("arg_params", arg_params), ("aux_params", aux_params)):
            if given is not None and not hasattr(given, "get"):
                raise ArgumentTypeError(
                    f"init_params: {what} must be a dict of name to NDArray, got"
                    f" {type(given).__name__}"
                )
        if initializer is None and not self.params_initialized:
            self._require_values_of_all(
                (*(arg_params or ()), *(aux_params or ())),
                "init_params: neither an initializer nor a value is given for",
            )
        self._make_host_arrays()
        attributes = self._symbol.attr_dict()
        for table, given in ((self._arg_params, arg_params), (self._aux_params, aux_params)):
            for name, array in sorted(table.items()):
                source = None if given is None else given.get(name)
                if source is not None:
                    _copy_parameter(name, source, array)
                elif given is not None and not allow_missing:
                    raise ArgumentError(
                        f"init_params: parameter '{name}' is missing from the given values; "
                        f"allow_missing=True initialises it{self._renumbering_hint([name], given)}"
                    )
                elif initializer is not None:
                    initializer(InitDesc(name, attributes.get(name)), array)
        self._set_fixed_values()
        self.params_initialized = True
        self._params_dirty = False
        self._exec_group.set_params(self._arg_params, self._aux_params)

    def _make_host_arrays(self):
        if self._arg_params is None:
            self._arg_params = _zeros_on_host(self._exec_group.param_arrays, self._param_names)
            self._aux_params = _zeros_on_host(self._exec_group.aux_arrays, self._aux_names)

    def _missing_names(self, given_names):
        """Return the names of parameters and states that are not among `given_names`."""
        given_names = set(given_names)
        return [name for name in (*self._param_names, *self._aux_names) if name not in given_names]

    def _warn_of_zero_params(self, given):
        lacking = [name for name in self._missing_names(given) if name not in self._fixed_values]
        if lacking:
            warn_user(
                f"set_params: {listed(lacking)} had no value before and is not among those given,"
                " so it is 0 now"
            )

    def _require_values_of_all(self, given, what):
        """Raise if parameters or states are not among `given`: they would be 0."""
        lacking = self._missing_names(given)
        if lacking:
            raise ArgumentError(
                f"{what} {listed(lacking)}; a parameter needs a first value, from an"
                f" initializer or from arg_params and aux_params"
                f"{self._renumbering_hint(lacking, given)}"
            )

    def _renumbering_hint(self, missing_names, given_names):
        """Return a hint for an error message if the given names match the missing ones except for
        numbers: automatic names continue counting in a second network."""
        known = {*self._param_names, *self._aux_names}
        strangers = {_DIGITS.sub("", str(name)): name for name in given_names if name not in known}
        for name in missing_names:
            if _DIGITS.sub("", name) in strangers:
                return (
                    f". The values have '{strangers[_DIGITS.sub('', name)]}' for '{name}': names "
                    "that nobody gives count on with each network; give operators a name= (layers a"
                    " prefix=) in both"
                )
        return f". The values have {listed(strangers.values())}" if strangers else ""

    def _set_fixed_values(self):
        """Set parameters that operators ignore to the assumed values: a fixed gamma becomes 1."""
        for name, number in self._fixed_values.items():
            self._arg_params[name][:] = number

    def set_params(
        self,
        arg_params: NamedArrays,
        aux_params: NamedArrays,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        """Give parameters values.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
        allow_missing : bool
            Parameters that are not given keep their values: 0 where they have none yet, with a
            warning.
        force_init : bool
            False changes nothing where parameters are initialized.
        allow_extra : bool
            With `allow_missing`: let the dicts have names that are no parameters.
        """
        if not allow_missing:
            self.init_params(
                initializer=None,
                arg_params=arg_params,
                aux_params=aux_params,
                allow_missing=False,
                force_init=force_init,
                allow_extra=allow_extra,
            )
            return
        if self.params_initialized and not force_init:
            warn_user(
                "parameters are initialized already; without force_init=True the given"
                " values are not used"
            )
            return
        self._require_state("set_params", "binded")
        if not self.params_initialized:
            self._warn_of_zero_params((*(arg_params or ()), *(aux_params or ())))
        self._make_host_arrays()
        self._exec_group.set_params(arg_params, aux_params, allow_extra=allow_extra)
        self._params_dirty = True
        self.params_initialized = True

    # --- batches of different shapes ---

    _plans_apart = True  # executors for each shape are cached separately; False within a bucket

    def _adapt_to_batch_shapes(self, data_batch):
        """Reshape the module if a batch has other shapes."""
        # `data` of a NumPy array is a memoryview
        data = None if hasattr(data_batch, "__array__") else getattr(data_batch, "data", None)
        if not isinstance(data, (list, tuple)):
            raise ArgumentTypeError(
                "a batch must have `data` and may have `label`, lists of arrays, as a DataBatch,"
                f" got {type(data_batch).__name__}"
            )
        if len(data) != len(self._data_shapes):
            raise ArgumentError(
                f"the batch has {len(data)} data arrays, the module takes"
                f" {len(self._data_shapes)}: {self._data_names}"
            )
        for array, desc in zip(data, self._data_shapes):
            try:
                fits = array.shape == desc.shape
            except AttributeError:
                raise ArgumentTypeError(
                    f"input '{desc.name}': the batch must have an NDArray or a NumPy array, got"
                    f" {type(array).__name__}"
                ) from None
            if not fits:
                self._reshape_for(data_batch)
                return
        # class labels where soft labels were bound, or vice versa: validation with MixIter
        label = getattr(data_batch, "label", None)
        if label and self._label_shapes and len(label) == len(self._label_shapes):
            for array, desc in zip(label, self._label_shapes):
                if len(getattr(array, "shape", desc.shape)) != len(desc.shape):
                    self._reshape_for(data_batch)
                    return

    def _remove_padding(self, outputs, pad):
        group = self._exec_group
        return group.unpadded_outputs(outputs, checked_pad(pad, group.batch_size))

    def _output_concat_axes(self, outputs):
        return [place[0] if place else 0 for place in self._exec_group.output_batch_axes]

    def _reshape_for(self, data_batch):
        data_shapes = getattr(data_batch, "provide_data", None) or [
            DataDesc(desc.name, array.shape, desc.dtype, desc.layout)
            for desc, array in zip(self._data_shapes, data_batch.data)
        ]
        label_shapes = getattr(data_batch, "provide_label", None)
        labels = getattr(data_batch, "label", None)
        for old, new in zip(self._data_shapes, data_shapes):
            if len(old[1]) != len(new[1]):
                raise ShapeError(
                    f"input '{new[0]}': the batch has shape {tuple(new[1])}, bound was {old[1]}"
                )
        if not label_shapes and self._label_shapes:
            if labels:
                label_shapes = [
                    DataDesc(desc.name, array.shape, desc.dtype, desc.layout)
                    for desc, array in zip(self._label_shapes, labels)
                ]
            else:
                label_shapes = self._label_shapes_for(data_shapes[0])
        self.reshape(data_shapes, label_shapes)

    def _label_shapes_for(self, data):
        """Return the bound label shapes with the batch size of `data`."""
        size = data.shape[DataDesc.get_batch_axis(data.layout)]
        shapes = []
        for desc in self._label_shapes:
            shape = list(desc.shape)
            axis = DataDesc.get_batch_axis(desc.layout)
            shape[axis] = shape[axis] * size // self._exec_group.batch_size
            shapes.append(DataDesc(desc.name, shape, desc.dtype, desc.layout))
        return shapes


_STEP_METHODS = StepMethods(Module)  # tells overridden methods


def _zeros_on_host(blocks, names):
    return {
        name: nd.zeros(block[0].shape, ctx=cpu(), dtype=block[0].dtype)
        for name, block in zip(names, blocks)
    }


def _copy_parameter(name, source, array):
    if source is array:
        return
    if not hasattr(source, "shape"):
        raise ArgumentTypeError(
            f"parameter '{name}': the given value must be an NDArray, got {type(source).__name__}"
        )
    if source.shape != array.shape:
        raise ShapeError(
            f"parameter '{name}' has shape {array.shape}, the given value has shape {source.shape}"
        )
    array[:] = source
