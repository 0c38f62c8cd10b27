"""SVRGModule: a Module that reduces gradient variance by full gradients at a weight snapshot."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from ...base.errors import ArgumentError, ArgumentTypeError, StateError, shown
from ...module.inputs import check_iterator
from ...module.module import Module

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...typing import (
        ContextLike,
        DataBatch,
        DataIter,
        DataShapes,
        GradReq,
        Logger,
        Names,
        NDArray,
    )


class SVRGModule(Module):
    """A Module that is trained by stochastic variance reduced gradients.

    Johnson and Zhang, "Accelerating Stochastic Gradient Descent using Predictive Variance
    Reduction". Every `update_freq` epochs the weights are kept aside, and their mean gradient over
    all data is computed (`update_full_grads`). ``update`` then follows, for each weight ``w`` and
    batch ``b``, ``grad(w, b) - grad(kept, b) + mean grad(kept)``: in the mean over batches the
    gradient itself, with a variance that vanishes as ``w`` comes near what was kept.

    Parameters
    ----------
    symbol, data_names, label_names, logger, context, work_load_list, fixed_param_names
        See :class:`Module`.
    state_names, group2ctxs, compression_params
        See :class:`Module`.
    update_freq : int
        Number of epochs between two such gradients.

    Raises
    ------
    ArgumentTypeError, ArgumentError
        When `update_freq` is not an int, or less than 1.

    Notes
    -----
    ``fit(resume=...)`` keeps neither the weights kept aside nor their gradient: where a training
    goes on, it takes them anew, also between two epochs of `update_freq`.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
    >>> net = mx.sym.LinearRegressionOutput(net, mx.sym.var("lin_label"), name="lin")
    >>> module = SVRGModule(net, label_names=["lin_label"], update_freq=2)
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.ones((8, 1)), 4, label_name="lin_label")
    >>> history = module.fit(data, eval_metric="mse", num_epoch=4, verbose=False)
    >>> history.metrics["Train-mse"][-1] < history.metrics["Train-mse"][0]
    True
    """

    def __init__(
        self,
        symbol: Any,
        data_names: Names | None = ("data",),
        label_names: Names | None = ("softmax_label",),
        logger: Logger = logging,
        context: ContextLike | Sequence[ContextLike] | None = None,
        work_load_list: Sequence[float] | None = None,
        fixed_param_names: Names | None = None,
        state_names: Names | None = None,
        group2ctxs: Any = None,
        compression_params: dict[str, Any] | None = None,
        update_freq: int | None = None,
    ) -> None:
        settings = (
            symbol,
            data_names,
            label_names,
            logger,
            context,
            work_load_list,
            fixed_param_names,
            state_names,
            group2ctxs,
        )
        super().__init__(*settings, compression_params)
        if isinstance(update_freq, bool) or not isinstance(update_freq, int):
            raise ArgumentTypeError(
                f"SVRGModule: update_freq must be an int, got {shown(update_freq)}"
            )
        if update_freq < 1:
            raise ArgumentError(f"SVRGModule: update_freq must be at least 1, got {update_freq}")
        self.update_freq = update_freq
        self._mod_aux = Module(*settings)  # module with the snapshot of the weights
        # for each parameter the full gradients on all devices; None before the first ones
        self._full_grads = None
        self._corrected = False

    def bind(
        self,
        data_shapes: DataShapes,
        label_shapes: DataShapes | None = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Module | None = None,
        grad_req: GradReq = "write",
    ) -> None:
        super().bind(
            data_shapes,
            label_shapes,
            for_training,
            inputs_need_grad,
            force_rebind,
            shared_module,
            grad_req,
        )
        if for_training:
            self._mod_aux.bind(
                data_shapes, label_shapes, True, inputs_need_grad, force_rebind, None, grad_req
            )

    def reshape(self, data_shapes: DataShapes, label_shapes: DataShapes | None = None) -> None:
        super().reshape(data_shapes, label_shapes)
        if self._mod_aux.binded:
            self._mod_aux.reshape(data_shapes, label_shapes)

    def forward(self, data_batch: DataBatch | Any, is_train: bool | None = None) -> None:
        super().forward(data_batch, is_train)
        self._corrected = False
        training = self.for_training if is_train is None else is_train
        if training and self._full_grads is not None:
            self._mod_aux.forward(data_batch, True)

    def backward(self, out_grads: list[NDArray] | None = None) -> None:
        super().backward(out_grads)
        if self._full_grads is not None:
            self._mod_aux.backward(out_grads)

    def update(self) -> None:
        """Change the parameters along the corrected gradients.

        Raises
        ------
        StateError
            Before the first `update_full_grads`.
        """
        self._correct_gradients()
        super().update()

    def clip_gradients(self, max_norm: float) -> Any:
        self._correct_gradients()
        return super().clip_gradients(max_norm)

    def _correct_gradients(self):
        """Replace the batch's gradients by variance-reduced ones, once a batch."""
        self._require_state("update", "binded", "params_initialized", "optimizer_initialized")
        if self._full_grads is None:
            raise StateError("SVRGModule: call update_full_grads before the first update")
        if self._corrected:
            return
        self._corrected = True
        old_grads = self._mod_aux._exec_group.grad_arrays
        for grads, others, full in zip(self._exec_group.grad_arrays, old_grads, self._full_grads):
            for grad, other, mean in zip(grads, others, full):
                if grad is not None:
                    grad[:] = grad - other + mean

    def update_full_grads(self, train_data: DataIter) -> None:
        """Store a snapshot of the weights, and compute its mean gradient over all batches.

        Parameters
        ----------
        train_data : DataIter
            The data; it is reset before and afterwards. Of a last batch that is filled up only the
            part that is not padding counts.

        Raises
        ------
        ArgumentError
            `train_data` gives no batch.
        CynetError
            The module is not bound, or its parameters have no values yet.

        Examples
        --------
        >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc")
        >>> net = mx.sym.LinearRegressionOutput(net, mx.sym.var("lin_label"), name="lin")
        >>> module = SVRGModule(net, label_names=["lin_label"], update_freq=2)
        >>> x, y = mx.nd.ones((8, 3)), mx.nd.ones((8, 1))
        >>> data = mx.io.NDArrayIter(x, y, batch_size=4, label_name="lin_label")
        >>> module.bind(data.provide_data, data.provide_label)
        >>> module.init_params()
        >>> module.init_optimizer()
        >>> module.update_full_grads(data)
        >>> for batch in data:
        ...     module.train_step(batch)
        """
        self._require_state("update_full_grads", "binded", "params_initialized")
        check_iterator("update_full_grads", "train_data", train_data)
        self._mod_aux.init_params(None, *self.get_params(), force_init=True)
        group = self._mod_aux._exec_group
        sums = [
            [None if g is None else g.zeros_like() for g in grads] for grads in group.grad_arrays
        ]
        train_data.reset()
        batches = 0.0
        for batch in train_data:
            self._mod_aux.forward_backward(batch)
            for total, grads in zip(sums, group.grad_arrays):
                for each, grad in zip(total, grads):
                    if grad is not None:
                        each += grad
            batches += 1 - (batch.pad or 0) / group.batch_size
        if not batches:
            raise ArgumentError("update_full_grads: train_data gives no batch")
        self._full_grads = [
            [None if each is None else each / batches for each in total] for total in sums
        ]
        train_data.reset()

    def _begin_epoch(self, epoch, train_data):
        if self._full_grads is None or epoch % self.update_freq == 0:
            self.update_full_grads(train_data)
