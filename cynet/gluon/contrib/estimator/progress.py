"""LoggingHandler: log messages of a training run."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentError, shown
from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, TrainBegin, TrainEnd, metric_list

if TYPE_CHECKING:
    from ....typing import EvalMetric
    from .estimator import Estimator


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Logs metrics and times with the estimator's `logger`.

    Parameters
    ----------
    log_interval : int or str
        Number of batches between lines, or ``'epoch'`` for one line per epoch.
    metrics : EvalMetric or list of EvalMetric, optional
        Metrics whose values are logged.
    priority : float
        Handlers run in rising order: by default this one is the last, when metrics are up to date.

    Raises
    ------
    ArgumentError
        `log_interval` is neither ``'epoch'`` nor 1 or more; `metrics` has something else than an
        EvalMetric.

    Examples
    --------
    >>> from cynet.gluon.contrib.estimator import Estimator, LoggingHandler
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> handler = LoggingHandler(log_interval=1, metrics=estimator.train_metrics[0])
    >>> estimator.logger.setLevel("INFO")
    >>> estimator.fit(loader, batches=2, event_handlers=[handler])  # doctest: +ELLIPSIS
    Training begins: optimizer SGD, learning rate 0.5000
    Train for 2 batches.
    [Epoch 0] Begins, learning rate 0.5000
    [Epoch 0][Batch 0][Samples 1] time/interval: ...s training accuracy: 1.0000
    [Epoch 0][Batch 1][Samples 2] time/interval: ...s training accuracy: 0.5000
    [Epoch 0] Finished in ...s, training accuracy: 0.5000
    Training ended after 1 epochs, ...s, training accuracy: 0.5000
    """

    def __init__(
        self,
        log_interval: int | str = "epoch",
        metrics: EvalMetric | list[EvalMetric] | None = None,
        priority: float = math.inf,
    ) -> None:
        if log_interval != "epoch" and (
            not isinstance(log_interval, int) or isinstance(log_interval, bool) or log_interval < 1
        ):
            raise ArgumentError(
                "LoggingHandler: log_interval must be 'epoch' or a number of batches, 1 or more,"
                f" got {shown(log_interval)}"
            )
        self.metrics = metric_list(metrics)
        self.log_interval = log_interval
        self.priority = priority
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0
        self._in_training = False

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Log the optimizer and the number of epochs or batches."""
        self._in_training = True
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0.0
        self.train_start = time.perf_counter()
        trainer = estimator.trainer
        estimator.logger.info(
            "Training begins: optimizer %s, learning rate %.4f",
            type(trainer.optimizer).__name__,
            trainer.learning_rate,
        )
        if estimator.max_epoch:
            estimator.logger.info("Train for %d epochs.", estimator.max_epoch)
        else:
            estimator.logger.info("Train for %d batches.", estimator.max_batch)

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Log how training ended."""
        took = time.perf_counter() - self.train_start
        text = f"Training ended after {self.current_epoch} epochs, {took:.0f}s"
        if self.metrics:
            text += f", {self._metric_text()}"
        estimator.logger.info(text)

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Log the beginning of an epoch or a validation."""
        self.epoch_start = time.perf_counter()
        if self._in_training:
            estimator.logger.info(
                "[Epoch %d] Begins, learning rate %.4f",
                self.current_epoch,
                estimator.trainer.learning_rate,
            )
        else:
            estimator.logger.info("Validation begins")

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Log the results of an epoch, or of a validation."""
        took = time.perf_counter() - self.epoch_start
        what = f"[Epoch {self.current_epoch}]" if self._in_training else "Validation"
        text = f"{what} Finished in {took:.3f}s"
        if self.metrics:
            text += f", {self._metric_text()}"
        estimator.logger.info(text)
        self.current_epoch += 1
        self.batch_index = 0

    def batch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Record the time at which the batch begins."""
        self.batch_start = time.perf_counter()

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Log a line at the first batch of each interval."""
        if isinstance(self.log_interval, str):
            return
        self.log_interval_time += time.perf_counter() - self.batch_start
        self.processed_samples += kwargs["batch"][0].shape[estimator.batch_axis]
        if self.batch_index % self.log_interval == 0:
            text = f"[Epoch {self.current_epoch}][Batch {self.batch_index}]"
            text += f"[Samples {self.processed_samples}]"
            text += f" time/interval: {self.log_interval_time:.3f}s"
            if self.metrics:
                text += f" {self._metric_text()}"
            estimator.logger.info(text)
            self.log_interval_time = 0.0
        self.batch_index += 1

    def _metric_text(self):
        pairs = [pair for metric in self.metrics for pair in metric.get_name_value()]
        return ", ".join(f"{name}: {value:.4f}" for name, value in pairs)
