"""mx.executor_manager: the interface of data-parallel training before Module."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from .base.errors import ArgumentError, CynetError, shown
from .base.guard import guarded
from .executor.bind import simple_bind
from .io import DataDesc
from .metric import create
from .module.executor_group import DataParallelExecutorGroup as _ModuleGroup
from .module.slicing import (
    _check_arguments,
    _load_data,
    _load_general,
    _load_label,
    _split_input_slice,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .typing import (
        Context,
        DataBatch,
        DataIter,
        Executor,
        Logger,
        MetricLike,
        Monitor,
        NamedArrays,
        NDArray,
        Symbol,
    )

__all__ = [
    "DataParallelExecutorGroup",
    "DataParallelExecutorManager",
    "_bind_exec",
    "_check_arguments",
    "_load_data",
    "_load_general",
    "_load_label",
    "_split_input_slice",
]
_NO_BATCH_TEXT = "no batch was loaded; call load_data_batch first"


@guarded
def _bind_exec(
    sym: Symbol,
    ctx: Context,
    input_shapes: dict[str, Any],
    param_names: Sequence[str],
    need_grad: Any = False,
    base_exec: Executor | None = None,
    shared_data_arrays: NamedArrays | None = None,
    input_types: dict[str, Any] | None = None,
    logger: Logger | None = None,
) -> Executor:
    """Bind an executor to new arrays, or to those of another executor.

    input_shapes, input_types: Of the inputs; the others' are inferred.
    param_names: Arguments that are parameters.
    need_grad: True: all parameters get gradients; a set: the arguments in it.
    base_exec: The executor whose parameters, gradients and states are used.
    shared_data_arrays: Input arrays, which executors of several sizes share: a smaller one is a
        part of the array, a larger one takes its place.

    Raises ArgumentError when `need_grad` names what is no argument.
    """
    names = sym.list_arguments()
    if isinstance(need_grad, bool):
        wanted = {name for name in names if need_grad and name in set(param_names)}
    else:
        wanted = set(need_grad)
        if not wanted <= set(names):
            raise ArgumentError(f"_bind_exec: need_grad has no argument {min(wanted - set(names))}")
    requests = {name: "write" if name in wanted else "null" for name in names}
    return simple_bind(
        sym,
        ctx,
        input_shapes,
        requests,
        input_types,
        shared_arg_names=None if base_exec is None else list(param_names),
        shared_exec=base_exec,
        shared_buffer=shared_data_arrays,
    )


def _as_data_descs(rows):
    return [row if isinstance(row, DataDesc) else DataDesc(*row[:2]) for row in rows or ()]


@guarded(but=("forward", "backward", "load_data_batch", "update_metric"))
class DataParallelExecutorGroup:
    """Executors of one symbol, each with a slice of the batch.

    Parameters
    ----------
    sym : Symbol
        The network.
    arg_names : list of str
        All arguments of `sym`.
    param_names : list of str
        Names of the parameters that are trained.
    ctx : list of Context
        The devices.
    slices : list of slice
        Part of the batch of each device; `_split_input_slice` makes them.
    train_data : DataIter
        Gives shapes and names of the inputs; a DataBatch that has them is allowed, too.
    shared_group : DataParallelExecutorGroup, optional
        Group whose parameters and gradients are shared.

    Attributes
    ----------
    train_execs : list of Executor
        The executor of each device.
    data_arrays, label_arrays : list of list of (slice, NDArray)
        For each input the arrays of all devices.
    param_arrays, grad_arrays, aux_arrays : list of list of NDArray
        For each parameter or state the arrays of all devices.

    Raises
    ------
    ArgumentError
        If `param_names` has what is not an argument, or two arguments of the symbol have one name.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    >>> net = mx.sym.SoftmaxOutput(net, name="softmax")
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 4)), mx.nd.zeros(8), 4)
    >>> group = mx.executor_manager.DataParallelExecutorGroup(
    ...     net, net.list_arguments(), ["fc_weight", "fc_bias"], [mx.cpu(0), mx.cpu(1)],
    ...     [slice(0, 2), slice(2, 4)], data)
    >>> group.train_execs[0].copy_params_from(
    ...     {"fc_weight": mx.nd.ones((3, 4)), "fc_bias": mx.nd.array([2, 0, 0])})
    >>> batch = next(data)
    >>> group.load_data_batch(batch)
    >>> group.forward(is_train=True)
    >>> group.backward()
    >>> metric = mx.metric.create("acc")
    >>> group.update_metric(metric, batch.label)
    >>> group.train_execs[0].outputs[0].shape, metric.num_inst
    ((2, 3), 4)
    """

    def __init__(
        self,
        sym: Symbol,
        arg_names: Sequence[str],
        param_names: Sequence[str],
        ctx: Sequence[Context],
        slices: Sequence[slice],
        train_data: DataIter | DataBatch,
        shared_group: DataParallelExecutorGroup | None = None,
    ) -> None:
        _check_arguments(sym)
        unknown = [name for name in param_names if name not in sym.list_arguments()]
        if unknown:
            raise ArgumentError(
                f"DataParallelExecutorGroup: expected arguments of the symbol, got {unknown[0]}"
            )
        self._group = _ModuleGroup(
            sym,
            list(ctx),
            [part.stop - part.start for part in slices],
            _as_data_descs(train_data.provide_data),
            _as_data_descs(train_data.provide_label),
            list(param_names),
            True,
            False,
            None if shared_group is None else shared_group._group,
        )
        self.slices = list(slices)
        self.data_names = [row[0] for row in train_data.provide_data]
        self.label_names = [row[0] for row in train_data.provide_label or ()]
        self.aux_names = sym.list_auxiliary_states()
        self.param_idx = [i for i, name in enumerate(arg_names) if name in set(param_names)]
        self.param_names = [arg_names[i] for i in self.param_idx]
        self.train_execs = self._group.execs
        self.data_arrays = self._input_slices(self.data_names)
        self.label_arrays = self._input_slices(self.label_names)
        self.param_arrays = self._arrays_of_devices(self.param_names, "arg_dict")
        self.grad_arrays = self._arrays_of_devices(self.param_names, "grad_dict")
        self.aux_arrays = self._arrays_of_devices(self.aux_names, "aux_dict")

    def _input_slices(self, names):
        pairs = list(zip(self.slices, self.train_execs))
        return [
            [(part, exe.arg_dict[n]) for part, exe in pairs if n in exe.arg_dict] for n in names
        ]

    def _arrays_of_devices(self, names, table):
        return [[getattr(exe, table)[name] for exe in self.train_execs] for name in names]

    def load_data_batch(self, data_batch: DataBatch | Any) -> None:
        """Copy each device's slice of a batch into its input arrays.

        Parameters
        ----------
        data_batch : DataBatch
            Data and labels of the whole batch.
        """
        self._group.load_batch(data_batch)

    def forward(self, is_train: bool = False) -> None:
        """Run forward on all devices.

        Parameters
        ----------
        is_train : bool
            Whether Dropout, BatchNorm and the like behave as in training.
        """
        for executor in self.train_execs:
            executor.forward(is_train)

    def backward(self) -> None:
        """Run backward on all devices."""
        self._group.backward()

    def update_metric(
        self, metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Update a metric with labels and outputs.

        Parameters
        ----------
        metric : EvalMetric or str
            The metric to update.
        labels : list of NDArray
            Labels of the whole batch; with `pre_sliced`, a list for each device.
        pre_sliced : bool
            Whether the labels are split already.
        """
        self._group.update_metric(create(metric), labels, pre_sliced)


@guarded(but=("forward", "backward", "load_data_batch", "update_metric"))
class DataParallelExecutorManager:
    """Executors on several devices, with `sym_gen` for each bucket.

    Parameters
    ----------
    symbol : Symbol
        The network.
    ctx : list of Context
        The devices.
    train_data : DataIter
        Gives shapes and names of the inputs.
    arg_names, param_names, aux_names : list of str, optional
        Names; by default those of `symbol`. Parameters are its arguments that the data do not name.
    work_load_list : list of number, optional
        Weight of each device when the batch is split; equal by default.
    logger : logging.Logger, optional
        Receives messages.
    sym_gen : callable, optional
        Returns the Symbol of a batch's ``bucket_key``.

    Raises
    ------
    ArgumentError
        If `work_load_list` has not a number for each device, or the names do not fit the symbol.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 4)), mx.nd.zeros(8), 4)
    >>> manager = mx.executor_manager.DataParallelExecutorManager(
    ...     mx.sym.SoftmaxOutput(net, name="softmax"), [mx.cpu(0), mx.cpu(1)], data
    ... )
    >>> monitor = mx.mon.Monitor(interval=100, pattern="fc_output")
    >>> manager.install_monitor(monitor)
    >>> weights = {"fc_weight": mx.nd.ones((3, 4)), "fc_bias": mx.nd.zeros(3)}
    >>> manager.set_params(weights, {})
    >>> batch = next(data)
    >>> manager.load_data_batch(batch)
    >>> manager.forward(is_train=True)
    >>> manager.backward()
    >>> [grad.shape for grad in manager.grad_arrays[0]]
    [(3, 4), (3, 4)]
    >>> [array.shape for array in manager.param_arrays[1]], manager.aux_arrays
    ([(3,), (3,)], [])
    >>> manager.update_metric(mx.metric.create("acc"), batch.label)
    >>> found = {name: mx.nd.zeros(array.shape) for name, array in weights.items()}
    >>> manager.copy_to(found, {})
    >>> mx.test_utils.same(found["fc_weight"], weights["fc_weight"])
    True
    """

    def __init__(
        self,
        symbol: Symbol,
        ctx: Sequence[Context],
        train_data: DataIter,
        arg_names: Sequence[str] | None = None,
        param_names: Sequence[str] | None = None,
        aux_names: Sequence[str] | None = None,
        work_load_list: Sequence[float] | None = None,
        logger: Logger | None = None,
        sym_gen: Callable[[Any], Symbol] | None = None,
    ) -> None:
        logger = logging if logger is None else logger
        work_load_list = [1] * len(ctx) if work_load_list is None else list(work_load_list)
        if len(work_load_list) != len(ctx):
            raise ArgumentError(
                f"DataParallelExecutorManager: work_load_list has {len(work_load_list)} numbers for"
                f" {len(ctx)} devices"
            )
        inputs = {row[0] for row in [*train_data.provide_data, *(train_data.provide_label or ())]}
        self.ctx = list(ctx)
        self.arg_names = symbol.list_arguments() if arg_names is None else list(arg_names)
        self.param_names = (
            [name for name in self.arg_names if name not in inputs]
            if param_names is None
            else list(param_names)
        )
        self.aux_names = symbol.list_auxiliary_states() if aux_names is None else list(aux_names)
        self.slices = _split_input_slice(train_data.batch_size, work_load_list)
        logger.info("Start training with %s", str(self.ctx))
        self.symbol, self.sym_gen = symbol, sym_gen
        self.execgrp = DataParallelExecutorGroup(
            symbol, self.arg_names, self.param_names, self.ctx, self.slices, train_data
        )
        self.curr_execgrp = None  # the group of the last loaded batch
        self.execgrp_bucket = {}
        if sym_gen is not None:
            self.execgrp_bucket[train_data.default_bucket_key] = self.execgrp

    def _current_group(self):
        if self.curr_execgrp is None:
            raise CynetError(f"DataParallelExecutorManager: {_NO_BATCH_TEXT}")
        return self.curr_execgrp

    def install_monitor(self, monitor: Monitor) -> None:
        """Install a Monitor on all executors.

        Parameters
        ----------
        monitor : Monitor
            It sees the values of each batch.

        Raises
        ------
        ArgumentError
            If there are buckets.
        """
        if self.sym_gen is not None:
            raise ArgumentError("DataParallelExecutorManager: a Monitor goes with one symbol only")
        for executor in self.execgrp.train_execs:
            monitor.install(executor)

    def set_params(self, arg_params: NamedArrays, aux_params: NamedArrays) -> None:
        """Copy parameters to all devices.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
            Parameters and auxiliary states by name.
        """
        for executor in self.execgrp.train_execs:
            executor.copy_params_from(arg_params, aux_params)

    def copy_to(self, arg_params: NamedArrays, aux_params: NamedArrays) -> None:
        """Copy parameters, averaged over devices, into given arrays.

        Parameters
        ----------
        arg_params, aux_params : dict of str to NDArray
            An array for each parameter and state, which is overwritten.

        Raises
        ------
        ArgumentError
            If one is missing.
        """
        for names, blocks, table in (
            (self.param_names, self.param_arrays, arg_params),
            (self.aux_names, self.aux_arrays, aux_params),
        ):
            for name, block in zip(names, blocks):
                if name not in table:
                    raise ArgumentError(f"DataParallelExecutorManager.copy_to: no {shown(name)}")
                context = table[name].context
                total = block[0].as_in_context(context)
                for each in block[1:]:
                    total = total + each.as_in_context(context)
                table[name][:] = total / len(block)

    @property
    def param_arrays(self) -> list[list[NDArray]]:
        """The arrays of all devices, for each parameter."""
        return self.execgrp.param_arrays

    @property
    def grad_arrays(self) -> list[list[NDArray]]:
        """The gradients of all devices, for each parameter."""
        return self.execgrp.grad_arrays

    @property
    def aux_arrays(self) -> list[list[NDArray]]:
        """The arrays of all devices, for each auxiliary state."""
        return self.execgrp.aux_arrays

    def load_data_batch(self, data_batch: DataBatch | Any) -> None:
        """Copy a batch into the input arrays, with `sym_gen` into those of its bucket's executors.

        Parameters
        ----------
        data_batch : DataBatch
            Data and labels of the whole batch.
        """
        group = self.execgrp
        if self.sym_gen is not None:
            group = self.execgrp_bucket.get(data_batch.bucket_key)
            if group is None:
                symbol = self.sym_gen(data_batch.bucket_key)
                group = DataParallelExecutorGroup(
                    symbol,
                    symbol.list_arguments(),
                    self.param_names,
                    self.ctx,
                    self.slices,
                    data_batch,
                    self.execgrp,
                )
                self.execgrp_bucket[data_batch.bucket_key] = group
        self.curr_execgrp = group
        group.load_data_batch(data_batch)

    def forward(self, is_train: bool = False) -> None:
        """Compute the outputs of the batch that was loaded.

        Parameters
        ----------
        is_train : bool
            Whether Dropout, BatchNorm and the like behave as in training.

        Raises
        ------
        CynetError
            If no batch was loaded.
        """
        self._current_group().forward(is_train)

    def backward(self) -> None:
        """Compute the gradients of the batch that was loaded."""
        self._current_group().backward()

    def update_metric(
        self, metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Update a metric with labels and outputs of the loaded batch.

        Parameters
        ----------
        metric : EvalMetric or str
            The metric to update.
        labels : list of NDArray
            Labels of the whole batch; with `pre_sliced`, a list for each device.
        pre_sliced : bool
            Whether the labels are split already.
        """
        self._current_group().update_metric(metric, labels, pre_sliced)
