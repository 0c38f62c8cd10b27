"""SequentialModule: a chain of modules, each fed with the outputs of the one before."""

from __future__ import annotations

import logging
from threading import get_ident
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, ArgumentTypeError, listed
from ..base.guard import guarded
from ..io import DataBatch, DataDesc
from .base_module import DEFAULT_INITIALIZER, BaseModule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import (
        DataShapes,
        GradReq,
        InitializerLike,
        KVStoreLike,
        Logger,
        MetricLike,
        Monitor,
        NamedArrays,
        NDArray,
        Optimizer,
        OptimizerParams,
        Shape,
    )


@guarded
class SequentialModule(BaseModule):
    """A chain of modules.

    Threads may share it as they may a :class:`Module`.

    Examples
    --------
    >>> fc = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    >>> first = mx.mod.Module(fc, label_names=None)
    >>> last = mx.mod.Module(mx.sym.SoftmaxOutput(name="softmax"), data_names=["softmax_data"])
    >>> chain = mx.mod.SequentialModule()
    >>> _ = chain.add(first).add(last, take_labels=True, auto_wiring=True)
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Logger = logging) -> None:
        super().__init__(logger)
        self._modules = []
        self._metas = []
        self._label_shapes = None
        self._data_shapes = None

    def add(self, module: BaseModule, **kwargs: Any) -> SequentialModule:
        """Append a module; return this SequentialModule.

        What was bound and initialized before is to be done again.

        Parameters
        ----------
        module : BaseModule
            Module whose data inputs are the outputs of the one before.
        take_labels : bool
            The module gets the labels of the batch.
        auto_wiring : bool
            Outputs of the module before go to its data inputs by position, whatever their names.

        Raises
        ------
        ArgumentTypeError
            `module` is not a module, or there is an option of another name.
        """
        unknown = set(kwargs) - {self.META_TAKE_LABELS, self.META_AUTO_WIRING}
        if unknown:
            raise ArgumentTypeError(
                f"SequentialModule.add: unknown {sorted(unknown)}; there are"
                f" {self.META_TAKE_LABELS} and {self.META_AUTO_WIRING}"
            )
        if not isinstance(module, BaseModule):
            raise ArgumentTypeError(
                f"SequentialModule.add: expected a module, got {type(module).__name__}"
            )
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    @property
    def data_names(self) -> list[str]:
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> list[str]:
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> list[DataDesc]:
        self._require_state("data_shapes", "binded")
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        self._require_state("label_shapes", "binded")
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, Shape]]:
        self._require_state("output_shapes", "binded")
        return self._modules[-1].output_shapes

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
        """Bind each module to the output shapes of the one before."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if shared_module is not None:
            raise ArgumentError("SequentialModule.bind: shared_module is not supported")
        if not self._modules:
            raise ArgumentError("SequentialModule.bind: add modules first")
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._label_shapes = label_shapes or None
        labels_taken = False
        shapes = data_shapes
        for i, (module, meta) in enumerate(zip(self._modules, self._metas)):
            labels = None
            if meta.get(self.META_TAKE_LABELS, False):
                labels, labels_taken = label_shapes, True
            if meta.get(self.META_AUTO_WIRING, False):
                if len(module.data_names) != len(shapes):
                    raise ArgumentError(
                        f"SequentialModule: module {i} takes {module.data_names},"
                        f" the one before gives {len(shapes)} outputs"
                    )
                shapes = [
                    DataDesc(name, tuple(each[1])) for name, each in zip(module.data_names, shapes)
                ]
            module.bind(
                data_shapes=shapes,
                label_shapes=labels,
                for_training=for_training,
                inputs_need_grad=for_training and (inputs_need_grad or i > 0),
                force_rebind=force_rebind,
                grad_req=grad_req,
            )
            shapes = module.output_shapes
        if not labels_taken:
            self._label_shapes = None
        self.binded = True

    def get_params(self) -> tuple[NamedArrays, NamedArrays]:
        """Return the parameters of all modules in two dicts."""
        self._require_state("get_params", "binded", "params_initialized")
        args, auxs = {}, {}
        for module in self._modules:
            arg, aux = module.get_params()
            args.update(arg)
            auxs.update(aux)
        return args, auxs

    def init_params(
        self,
        initializer: InitializerLike | None = DEFAULT_INITIALIZER,
        arg_params: NamedArrays | None = None,
        aux_params: NamedArrays | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Initialise all modules; parameter names must be unique among them."""
        if self.params_initialized and not force_init:
            return
        self._require_state("init_params", "binded")
        for module in self._modules:
            module.init_params(
                initializer=initializer,
                arg_params=arg_params,
                aux_params=aux_params,
                allow_missing=allow_missing,
                force_init=force_init,
                allow_extra=allow_extra,
            )
        self._check_parameter_owners()
        self.params_initialized = True

    def _check_parameter_owners(self):
        """Return the names of all parameters; refuse a name that two modules have."""
        owners = {}
        for i, module in enumerate(self._modules):
            for name in (each for part in module.get_params() for each in part):
                if name in owners:
                    raise ArgumentError(
                        f"SequentialModule: parameter '{name}' is in module"
                        f" {owners[name]} and in module {i}"
                    )
                owners[name] = i
        return owners.keys()

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
        for module in self._modules:
            module.set_params(arg_params, aux_params, True, force_init, True)
        strange = {*(arg_params or ()), *(aux_params or ())} - self._check_parameter_owners()
        self.params_initialized = True
        if strange and not allow_extra:
            raise ArgumentError(
                f"set_params: no module has a parameter {listed(sorted(strange))};"
                " allow_extra=True passes over it"
            )

    def init_optimizer(
        self,
        kvstore: KVStoreLike | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Initialize an optimizer for each module."""
        self._require_state("init_optimizer", "binded", "params_initialized")
        if self._should_keep_optimizer(kvstore, optimizer, optimizer_params, force_init):
            return
        for module in self._modules:
            module.init_optimizer(
                kvstore=kvstore,
                optimizer=optimizer,
                optimizer_params=optimizer_params,
                force_init=force_init,
            )
        self.optimizer_initialized = True

    def _gather_states(self):
        for module in self._modules:
            module._gather_states()

    def forward(self, data_batch: DataBatch | Any, is_train: bool | None = None) -> None:
        """Run the modules one after another."""
        self._require_state("forward", "binded", "params_initialized")
        with self._thread_guard.lock:
            if self._thread_guard.last != get_ident():
                # each inner module detaches its own outputs
                self._thread_guard.claim_outputs(lambda: None)
            batch = DataBatch(
                data_batch.data,
                getattr(data_batch, "label", None),
                getattr(data_batch, "pad", None),
                getattr(data_batch, "index", None),
                provide_data=getattr(data_batch, "provide_data", None),
                provide_label=getattr(data_batch, "provide_label", None),
            )
            for module, following in zip(self._modules, [*self._modules[1:], None]):
                module.forward(batch, is_train=is_train)
                module._store_pad_count(batch)
                if following is not None:
                    outputs = module.get_outputs()
                    shapes = [
                        DataDesc(name, array.shape)
                        for name, array in zip(following.data_names, outputs)
                    ]
                    batch = DataBatch(
                        outputs,
                        batch.label,
                        batch.pad,
                        batch.index,
                        provide_data=shapes,
                        provide_label=batch.provide_label,
                    )

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Run backward from the last module to the first."""
        self._require_state("backward", "binded", "params_initialized")
        with self._thread_guard.lock:
            self._thread_guard.check_owner_thread("backward")
            for module in reversed(self._modules):
                module.backward(out_grads=out_grads)
                if module is not self._modules[0]:
                    out_grads = module.get_input_grads()

    def update(self) -> None:
        """Update all modules."""
        self._require_state("update", "binded", "params_initialized", "optimizer_initialized")
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the outputs of the last module."""
        self._require_state("get_outputs", "binded", "params_initialized")
        with self._thread_guard.lock:
            self._thread_guard.check_owner_thread("get_outputs")
            return self._modules[-1].get_outputs(merge_multi_context)

    def _remove_padding(self, outputs, pad):
        return self._modules[-1]._remove_padding(outputs, pad)

    def _output_concat_axes(self, outputs):
        return self._modules[-1]._output_concat_axes(outputs)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the gradients of the first module's data."""
        self._require_state("get_input_grads", "binded", "params_initialized")
        if not self.inputs_need_grad:
            raise ArgumentError("get_input_grads: the chain was bound with inputs_need_grad=False")
        with self._thread_guard.lock:
            self._thread_guard.check_owner_thread("get_input_grads")
            return self._modules[0].get_input_grads(merge_multi_context)

    def _make_label_check(self, train_data):
        checks = [
            module._make_label_check(train_data)
            for module, meta in zip(self._modules, self._metas)
            if meta.get(self.META_TAKE_LABELS, False)
        ]
        checks = [check for check in checks if check is not None]

        def check_all(batch):
            for check in checks:
                check(batch)

        return check_all if checks else None

    def update_metric(
        self, eval_metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Update the metric by the modules that take labels."""
        self._require_state("update_metric", "binded", "params_initialized")
        with self._thread_guard.lock:
            self._thread_guard.check_owner_thread("update_metric")
            for module, meta in zip(self._modules, self._metas):
                if meta.get(self.META_TAKE_LABELS, False):
                    module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        """Install a Monitor on all modules."""
        self._require_state("install_monitor", "binded")
        for module in self._modules:
            module.install_monitor(mon)
