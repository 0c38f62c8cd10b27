"""Modules written in Python: PythonModule and PythonLossModule."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from ..base.errors import ArgumentError, CynetError, shown
from ..base.guard import guarded
from .base_module import DEFAULT_INITIALIZER, BaseModule
from .inputs import _parse_data_desc

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import (
        DataBatch,
        DataDesc,
        DataShapes,
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
    )


@guarded
class PythonModule(BaseModule):
    """Base of modules without parameters whose computation a subclass defines in Python.

    One thread at a time uses it (docs/guide/threads.md).

    A subclass defines ``forward``, ``backward``, ``get_outputs``, ``get_input_grads`` and
    ``_compute_output_shapes``.

    Parameters
    ----------
    data_names, label_names, output_names : list of str
        Names of the inputs, of the labels (None if there are none) and of the outputs.

    Examples
    --------
    A module without gradient, which takes the logarithm of its input:

    >>> class Log(mx.mod.PythonModule):
    ...     def _compute_output_shapes(self):
    ...         return [("log_output", self.data_shapes[0].shape)]
    ...     def forward(self, data_batch, is_train=None):
    ...         self.output = mx.nd.log(data_batch.data[0])
    ...     def get_outputs(self, merge_multi_context=True):
    ...         return [self.output]
    >>> module = Log(["data"], None, ["log_output"])
    >>> module.bind([("data", (2,))], for_training=False)
    >>> module.init_params()
    >>> module.predict(mx.nd.array([1, 10])).asnumpy()
    array([0.       , 2.3025851], dtype=float32)
    """

    def __init__(
        self,
        data_names: Names,
        label_names: Names | None,
        output_names: Names,
        logger: Logger = logging,
    ) -> None:
        super().__init__(logger)
        self._data_names = list(data_names)
        self._label_names = list(label_names or ())
        self._output_names = list(output_names)
        self._data_shapes = self._label_shapes = self._output_shapes = None

    @property
    def data_names(self) -> list[str]:
        return self._data_names

    @property
    def output_names(self) -> list[str]:
        return self._output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        return self._data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        return self._label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, Shape]]:
        return self._output_shapes

    def get_params(self) -> tuple[NamedArrays, NamedArrays]:
        """Return two empty dicts: there are no parameters."""
        return {}, {}

    def init_params(
        self,
        initializer: InitializerLike | None = DEFAULT_INITIALIZER,
        arg_params: NamedArrays | None = None,
        aux_params: NamedArrays | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        """Nothing to initialise."""
        self.params_initialized = True

    def init_optimizer(
        self,
        kvstore: KVStoreLike | None = "local",
        optimizer: Optimizer | str = "sgd",
        optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        """Nothing to optimise."""
        self.optimizer_initialized = True

    def update(self) -> None:
        """Nothing to update."""

    def update_metric(
        self, eval_metric: MetricLike, labels: Sequence[NDArray], pre_sliced: bool = False
    ) -> None:
        """Update a metric with labels and outputs, if the module has labels."""
        if self._label_shapes is None:
            return
        if pre_sliced:
            raise ArgumentError("PythonModule.update_metric: labels must not be sliced")
        outputs = self.get_outputs()
        if self._pad:
            outputs = self._remove_padding(outputs, self._pad)
            labels = self._remove_padding(labels, self._pad)
        eval_metric.update_dict(
            dict(zip(self._label_names, labels)), dict(zip(self._output_names, outputs))
        )

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
        """Note the shapes."""
        if self.binded and not force_rebind:
            self.logger.warning("Already bound, ignoring bind()")
            return
        if grad_req != "write":
            raise ArgumentError(
                f"PythonModule.bind: grad_req must be 'write', got {shown(grad_req)}"
            )
        self.for_training = for_training
        self.inputs_need_grad = inputs_need_grad
        self._data_shapes, self._label_shapes = _parse_data_desc(
            self._data_names, self._label_names, data_shapes, label_shapes
        )
        self._output_shapes = self._compute_output_shapes()
        self.binded = True

    def _compute_output_shapes(self):
        """Return pairs (name, shape) of the outputs, from ``self._data_shapes``."""
        raise self._undefined_error("_compute_output_shapes")


@guarded
class PythonLossModule(PythonModule):
    """A loss at the end of a :class:`SequentialModule`: its outputs are the scores.

    Parameters
    ----------
    name : str
        The output is ``{name}_output``.
    data_names, label_names : list of str
        Name of the input and of the label, one each.
    grad_func : callable
        ``grad_func(scores, labels)`` returns the gradient of the loss by the scores, of their
        shape, as NDArray or NumPy array.

    Raises
    ------
    ArgumentError
        `data_names` or `label_names` are not one name each, or `grad_func` is not callable.

    Examples
    --------
    The squared difference, whose gradient is written by hand, trains the network before it:

    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, no_bias=True, name="fc")
    >>> loss = mx.mod.PythonLossModule(grad_func=lambda scores, labels: 2 * (scores - labels))
    >>> chain = mx.mod.SequentialModule()
    >>> chain = chain.add(mx.mod.Module(net, label_names=None))
    >>> chain = chain.add(loss, take_labels=True, auto_wiring=True)
    >>> chain.bind([("data", (1, 1))], [("softmax_label", (1, 1))])
    >>> chain.init_params(mx.init.One())
    >>> chain.init_optimizer(optimizer_params={"learning_rate": 0.1})
    >>> for step in range(20):
    ...     chain.train_step(mx.io.DataBatch([mx.nd.ones((1, 1))], [mx.nd.array([[5]])]))
    >>> round(chain.get_params()[0]["fc_weight"].asscalar().item(), 2)
    4.95
    """

    def __init__(
        self,
        name: str = "pyloss",
        data_names: Names = ("data",),
        label_names: Names = ("softmax_label",),
        logger: Logger = logging,
        grad_func: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(data_names, label_names, [f"{name}_output"], logger)
        if len(data_names) != 1 or len(label_names) != 1:
            raise ArgumentError(
                "PythonLossModule takes one data input and one label, got"
                f" {list(data_names)} and {list(label_names)}"
            )
        if grad_func is not None and not callable(grad_func):
            raise ArgumentError(
                f"PythonLossModule: grad_func must be callable, got {shown(grad_func)}"
            )
        self._name = name
        self._scores = self._labels = self._scores_grad = None
        self._grad_func = grad_func

    def _compute_output_shapes(self):
        return [(f"{self._name}_output", self._data_shapes[0][1])]

    def forward(self, data_batch: DataBatch | Any, is_train: bool | None = None) -> None:
        """Store the scores, and the labels in training."""
        self._scores = data_batch.data[0]
        self._store_pad_count(data_batch)
        if self.for_training if is_train is None else is_train:
            if not getattr(data_batch, "label", None):
                raise ArgumentError(
                    f"training needs the label {shown(self._label_names[0])}, and the batch has no"
                    " labels; give an iterator with labels, or DataBatch(data, label)"
                )
            self._labels = data_batch.label[0]

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """The scores."""
        if self._scores is None:
            raise CynetError("get_outputs: call forward first, there is nothing computed yet")
        return [self._scores]

    def backward(self, out_grads: NDArray | Sequence[NDArray] | None = None) -> None:
        """Compute the gradient of the scores."""
        if out_grads is not None:
            raise ArgumentError("PythonLossModule.backward: expected out_grads=None for a loss")
        if not self.for_training:
            raise ArgumentError("backward: the module was bound with for_training=False")
        self._backward_impl()

    def _backward_impl(self):
        if self._grad_func is None:
            raise self._undefined_error("_backward_impl, and was given no grad_func")
        grad = self._grad_func(self._scores, self._labels)
        self._scores_grad = grad if isinstance(grad, nd.NDArray) else nd.array(grad)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """Return the gradient of the scores."""
        return [self._scores_grad]

    def install_monitor(self, mon: Monitor) -> None:
        """Do nothing: there is no executor to watch."""
