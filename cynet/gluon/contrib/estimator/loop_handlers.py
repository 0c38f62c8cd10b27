"""Handlers that make the loop one of training: updates, metrics, validation, its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentTypeError, shown
from ....base.guard import guarded
from ....metric import Loss
from .events import BatchEnd, EpochBegin, EpochEnd, TrainBegin, metric_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....typing import EvalMetric
    from ...data import DataLoader
    from .estimator import Estimator


@guarded
class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """Ends training after so many epochs or batches; those of the estimator by default.

    Parameters
    ----------
    max_epoch, max_batch : int, optional
    """

    def __init__(self, max_epoch: int | None = None, max_batch: int | None = None) -> None:
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Count from 0 again, up to what `fit` was asked for."""
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool:
        """True at the last batch."""
        self.current_batch += 1
        if self.current_batch == self.max_batch:
            self.stop_training = True
        return self.stop_training

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool:
        """True at the last epoch."""
        self.current_epoch += 1
        if self.current_epoch == self.max_epoch:
            self.stop_training = True
        return self.stop_training


@guarded
class MetricHandler(EpochBegin, BatchEnd, EpochEnd):
    """Updates metrics by each batch, and resets them before each epoch. When it has ended, they are
    those of all ranks.

    Parameters
    ----------
    metrics : EvalMetric or list of EvalMetric
    priority : int
    """

    def __init__(self, metrics: EvalMetric | list[EvalMetric], priority: float = -1000) -> None:
        self.metrics = metric_list(metrics)
        self.priority = priority

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Reset."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Update: a Loss by the losses, others by labels and predictions."""
        for metric in self.metrics:
            if isinstance(metric, Loss):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Take what the other ranks have seen, too."""
        estimator._ranks.merge(self.metrics)


@guarded
class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Validates after every so many epochs or batches.

    Parameters
    ----------
    val_data : DataLoader
    eval_fn : callable
        Called with `val_data`, ``batch_axis`` and ``event_handlers``, as `Estimator.evaluate`.
    epoch_period, batch_period : int, optional
        None: not after epochs, or batches.
    priority : int
    event_handlers : list of EventHandler, optional
        Of the validation.

    Raises
    ------
    ArgumentTypeError
        A value has another type; the message names it.
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

    def _validate(self, estimator):
        self.eval_fn(
            val_data=self.val_data,
            batch_axis=estimator.batch_axis,
            event_handlers=self.event_handlers,
        )

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Validate where a period of batches ends."""
        self.current_batch += 1
        if self.batch_period and self.current_batch % self.batch_period == 0:
            self._validate(estimator)

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Validate where a period of epochs ends."""
        self.current_epoch += 1
        if self.epoch_period and self.current_epoch % self.epoch_period == 0:
            self._validate(estimator)


@guarded
class GradientUpdateHandler(BatchEnd):
    """Updates the weights after each batch, by its gradients divided by its samples, those of all
    ranks.

    Parameters
    ----------
    priority : int
    """

    def __init__(self, priority: float = -2000) -> None:
        self.priority = priority

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Update."""
        losses = kwargs["loss"]
        losses = losses if isinstance(losses, (list, tuple)) else [losses]
        samples = sum(loss.shape[0] if loss.shape else 1 for loss in losses)
        estimator.trainer.step(estimator._ranks.total(samples))
