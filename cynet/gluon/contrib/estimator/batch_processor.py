"""BatchProcessor: forward and backward of one batch of training or validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .... import autograd
from ....base.guard import guarded
from ...utils import split_and_load

if TYPE_CHECKING:
    from .estimator import Estimator

__all__ = ["BatchProcessor"]


@guarded
class BatchProcessor:
    """Computes predictions and losses of a batch, and in training gradients; may be subclassed.

    Both methods return (data, label, predictions, losses): lists with an array for each context.

    Examples
    --------
    One that trains on inputs with noise:

    >>> from cynet.gluon.contrib.estimator import BatchProcessor, Estimator
    >>> class Noisy(BatchProcessor):
    ...     def fit_batch(self, estimator, train_batch, batch_axis=0):
    ...         data, label = train_batch
    ...         data = data + mx.nd.random.normal(scale=0.1, shape=data.shape)
    ...         return super().fit_batch(estimator, (data, label), batch_axis)
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    >>> estimator = Estimator(net, loss, trainer=trainer, batch_processor=Noisy())
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> estimator.fit(mx.gluon.data.DataLoader(data, batch_size=2), epochs=20)
    >>> estimator.train_metrics[0].get()
    ('training accuracy', 1.0)

    Its methods are what the estimator calls:

    >>> batch = mx.nd.array([[0], [1]]), mx.nd.array([0, 1])
    >>> processor = estimator.batch_processor
    >>> data, label, predictions, losses = processor.evaluate_batch(estimator, batch)
    >>> predictions[0].shape, losses[0].shape
    ((2, 2), (2,))
    >>> data, label, predictions, losses = processor.fit_batch(estimator, batch)
    >>> net.weight.grad().shape
    (2, 1)
    """

    def _get_data_and_label(self, batch, ctx, batch_axis=0):
        """Split a batch's data and label over the contexts."""
        data = split_and_load(batch[0], ctx, batch_axis, even_split=False)
        label = split_and_load(batch[1], ctx, batch_axis, even_split=False)
        return data, label

    def fit_batch(self, estimator: Estimator, train_batch: Any, batch_axis: int = 0) -> Any:
        """Run forward and backward of one batch; the parameters store the gradients.

        Parameters
        ----------
        estimator : Estimator
            Its `net`, `loss` and `context` are used.
        train_batch : (NDArray, NDArray)
            Data and label.
        batch_axis : int
            The axis that is split over the contexts.

        Returns
        -------
        data, label, predictions, losses : list of NDArray
            One for each context: its part of the batch, and what was computed from it.
        """
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(each) for each in data]
            loss = [estimator.loss(each, wanted) for each, wanted in zip(pred, label)]
        autograd.backward(loss)
        return data, label, pred, loss

    def evaluate_batch(self, estimator: Estimator, val_batch: Any, batch_axis: int = 0) -> Any:
        """Run forward of one batch, by the estimator's `val_net` and `val_loss`.

        Parameters
        ----------
        estimator : Estimator
            Its `val_net`, `val_loss` and `context` are used.
        val_batch : (NDArray, NDArray)
            Data and label.
        batch_axis : int
            The axis that is split over the contexts.

        Returns
        -------
        data, label, predictions, losses : list of NDArray
            One for each context: its part of the batch, and what was computed from it.
        """
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(each) for each in data]
        loss = [estimator.val_loss(each, wanted) for each, wanted in zip(pred, label)]
        return data, label, pred, loss
