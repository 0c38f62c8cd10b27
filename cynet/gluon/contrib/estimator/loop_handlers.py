"""Handlers of the training loop: weight updates, metrics, validation, stopping."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentTypeError, shown
from ....metric import Loss
from .events import BatchEnd, EpochBegin, EpochEnd, TrainBegin, metric_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....typing import EvalMetric
    from ...data import DataLoader
    from .estimator import Estimator


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends training after a number of epochs or batches.

    ``Estimator.fit`` adds one of its own. When training begins, the numbers of `fit` take the place
    of those given here.

    Parameters
    ----------
    max_epoch, max_batch : int, optional
        Number of epochs and of batches, until `fit` gives others.

    Examples
    --------
    >>> from cynet.gluon.contrib.estimator import Estimator, StoppingHandler
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> handler = StoppingHandler()
    >>> estimator.fit(loader, batches=3, event_handlers=[handler])
    >>> handler.current_batch, handler.stop_training
    (3, True)
    """

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Reset the counts and take the limits that `fit` was called with."""
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool:
        """Return True at the last batch."""
        self.current_batch += 1
        if self.current_batch == self.max_batch:
            self.stop_training = True
        return self.stop_training

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool:
        """Return True at the last epoch."""
        self.current_epoch += 1
        if self.current_epoch == self.max_epoch:
            self.stop_training = True
        return self.stop_training


class MetricHandler(EpochBegin, BatchEnd, EpochEnd):
    """Updates metrics by each batch, and resets them before each epoch.

    When an epoch has ended, they are those of all ranks. ``Estimator.fit`` adds one for the
    estimator's `train_metrics`.

    Parameters
    ----------
    metrics : EvalMetric or list of EvalMetric
        A metric of class Loss is updated by the losses, others by labels and predictions.
    priority : float
        Handlers run in rising order: this one before those that read metrics.

    Raises
    ------
    ArgumentError
        `metrics` has something else than an EvalMetric.

    Examples
    --------
    One that metrics are updated with by hand:

    >>> from cynet.gluon.contrib.estimator import Estimator, MetricHandler
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> handler = MetricHandler(estimator.train_metrics)
    >>> handler.epoch_begin(estimator)
    >>> label, scores = mx.nd.array([0, 1]), mx.nd.array([[2, 1], [2, 1]])
    >>> handler.batch_end(estimator, label=[label], pred=[scores], loss=[mx.nd.array([0.3, 1.3])])
    >>> estimator.train_metrics[0].get()
    ('training accuracy', 0.5)
    """

    def __init__(self, metrics: EvalMetric | list[EvalMetric], priority: float = -1000) -> None:
        self.metrics = metric_list(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Reset."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Update each Loss metric by the losses, other metrics by labels and predictions."""
        for metric in self.metrics:
            if isinstance(metric, Loss):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Combine the metric with the metrics of the other ranks."""
        estimator._ranks.merge_metrics(self.metrics)


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Validates after each period of epochs or batches.

    ``Estimator.fit`` adds one that does it after each epoch if it is given `val_data`.

    Parameters
    ----------
    val_data : DataLoader
        Gives pairs (data, label).
    eval_fn : callable
        Called with `val_data`, ``batch_axis`` and ``event_handlers``, as `Estimator.evaluate`.
    epoch_period, batch_period : int, optional
        Number of epochs, and of batches, between validations; None leaves it out.
    priority : float
        Handlers run in rising order.
    event_handlers : list of EventHandler, optional
        Handlers of the validation.

    Raises
    ------
    ArgumentTypeError
        `eval_fn` cannot be called.

    Examples
    --------
    Every second epoch:

    >>> from cynet.gluon.contrib.estimator import Estimator, ValidationHandler
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> handler = ValidationHandler(loader, estimator.evaluate, epoch_period=2)
    >>> estimator.fit(loader, epochs=20, event_handlers=[handler])
    >>> estimator.val_metrics[0].get()
    ('validation accuracy', 1.0)
    """

    def __init__(
        self,
        val_data: DataLoader,
        eval_fn: Callable[..., Any],
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        priority: float = -1000,
        event_handlers: Any = None,
    ) -> None:
        if not callable(eval_fn):
            raise ArgumentTypeError(
                f"ValidationHandler: eval_fn must be callable, got {shown(eval_fn)}"
            )
        self.val_data, self.eval_fn = val_data, eval_fn
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.current_batch = self.current_epoch = 0
        self.priority = priority
        self.event_handlers = event_handlers

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Count from 0 again."""
        self.current_batch = self.current_epoch = 0

    def _run_validation(self, estimator):
        self.eval_fn(
            val_data=self.val_data,
            batch_axis=estimator.batch_axis,
            event_handlers=self.event_handlers,
        )

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Validate after each period of batches."""
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._run_validation(estimator)

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Validate after each period of epochs."""
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._run_validation(estimator)


class GradientUpdateHandler(BatchEnd):
    """Updates the weights after each batch, with gradients divided by the total batch size of all
    ranks.

    ``Estimator.fit`` adds one unless there is one among its handlers.

    Parameters
    ----------
    priority : float
        Handlers run in rising order: this one before those of metrics (-1000).

    Examples
    --------
    One that updates by the gradients of two batches together:

    >>> from cynet.gluon.contrib.estimator import Estimator, GradientUpdateHandler
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> class EverySecond(GradientUpdateHandler):
    ...     batches = 0
    ...     def batch_end(self, estimator, *args, **kwargs):
    ...         self.batches += 1
    ...         if self.batches % 2 == 0:
    ...             estimator.trainer.step(2)
    ...             net.collect_params().zero_grad()
    >>> net.collect_params().setattr("grad_req", "add")
    >>> estimator.fit(loader, epochs=20, event_handlers=[EverySecond()])
    >>> estimator.train_metrics[0].get()
    ('training accuracy', 1.0)
    """

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Update."""
        losses = kwargs["loss"]
        losses = losses if isinstance(losses, (list, tuple)) else [losses]
        samples = sum(loss.shape[0] if loss.shape else 1 for loss in losses)
        estimator.trainer.step(estimator._ranks.sum_over_ranks(samples))
