"""EarlyStoppingHandler: ends training when a metric improves no more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ....base.errors import warn_user
from ....base.guard import guarded
from .events import EpochEnd, TrainBegin, TrainEnd
from .monitor import check_monitor, comparison, worst

if TYPE_CHECKING:
    from ....typing import EvalMetric
    from .estimator import Estimator


@guarded
class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Ends training after an epoch when a metric has not improved for some.

    Parameters
    ----------
    monitor : EvalMetric
        Of the estimator's `train_metrics` or `val_metrics`.
    min_delta : float
        By how much a value must be better to count.
    patience : int
        Epochs without improvement that are allowed.
    mode : str
        ``'min'``, ``'max'``; ``'auto'`` takes what the metric's name says.
    baseline : float, optional
        The value to improve on at first.
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
        self.monitor_op = comparison("EarlyStoppingHandler", monitor, mode)
        self.min_delta = -min_delta if self.monitor_op is np.less else min_delta
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Begin anew."""
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False
        self.best = worst(self.monitor_op) if self.baseline is None else self.baseline

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool:
        """True when it has been too long."""
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
        """Say why it ended."""
        if self.stop_training:
            estimator.logger.info(
                "[Epoch %d] EarlyStoppingHandler: %s does not improve, training ends",
                self.stopped_epoch,
                self.monitor.get()[0],
            )
