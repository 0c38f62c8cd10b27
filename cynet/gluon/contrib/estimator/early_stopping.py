"""EarlyStoppingHandler: ends training when a metric stops improving."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....base.errors import warn_user
from .events import EpochEnd, TrainBegin, TrainEnd
from .monitor import check_monitor, comparison_function, worst_value

if TYPE_CHECKING:
    from ....typing import EvalMetric
    from .estimator import Estimator


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends training when a metric has not improved for `patience` epochs.

    Parameters
    ----------
    monitor : EvalMetric
        One of the estimator's `train_metrics` or `val_metrics`.
    min_delta : float
        Smallest change that counts as an improvement.
    patience : int
        Number of epochs in a row without improvement after which training ends; 0 and 1 are the
        same.
    baseline : float, optional
        Value that the first epochs have to improve on.

    Raises
    ------
    ArgumentError
        `monitor` is not an EvalMetric, or `mode` is not one of the three, or is ``'auto'`` for a
        metric whose name does not say.

    Examples
    --------
    The accuracy is 1 after the first epochs, and cannot improve:

    >>> from cynet.gluon.contrib.estimator import EarlyStoppingHandler, Estimator
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> handler = EarlyStoppingHandler(estimator.train_metrics[0], patience=3)
    >>> estimator.fit(loader, epochs=100, event_handlers=[handler])
    >>> handler.stopped_epoch, handler.best
    (6, 1.0)
    """

    def __init__(
        self,
        monitor: EvalMetric,
        min_delta: float = 0,
        patience: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
    ) -> None:
        check_monitor("EarlyStoppingHandler", monitor)
        self.monitor = monitor
        self.baseline, self.patience = baseline, patience
        self.monitor_op = comparison_function("EarlyStoppingHandler", monitor, mode)
        self.min_delta = -min_delta if self.monitor_op is np.less else min_delta
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Reset the best value and the epoch count."""
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self.best = worst_value(self.monitor_op) if self.baseline is None else self.baseline

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool:
        """Return whether training ends: the metric has not improved for `patience` epochs."""
        value = self.monitor.get()[1]
        if math.isnan(value):
            warn_user(
                f"EarlyStoppingHandler: {self.monitor.get()[0]} has no value; does anything"
                " update it?",
                RuntimeWarning,
            )
        elif self.monitor_op(value - self.min_delta, self.best):
            self.best = value
            self.wait = 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch = self.current_epoch
                self.stop_training = True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Log why training ended."""
        if self.stop_training:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHandler: %s does not improve, training ends",
                self.stopped_epoch,
                self.monitor.get()[0],
            )
