"""Events of a training loop: a handler inherits from those that it handles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentError, shown
from ....metric import CompositeEvalMetric, EvalMetric

if TYPE_CHECKING:
    from .estimator import Estimator


class EventHandler:
    """Base of all handlers.

    Those of one event are called in the order of their attribute `priority`, 0 where there is
    none, the lowest first.
    """


class TrainBegin(EventHandler):
    """Called once, before the first epoch."""

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Training begins.

        Parameters
        ----------
        estimator : Estimator
            Whose training it is.
        """


class TrainEnd(EventHandler):
    """Called once, after the last epoch."""

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Training has ended.

        Parameters
        ----------
        estimator : Estimator
            Whose training it is.
        """


class EpochBegin(EventHandler):
    """Called before the first batch of each epoch."""

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """An epoch begins.

        Parameters
        ----------
        estimator : Estimator
            Whose training it is.
        """


class EpochEnd(EventHandler):
    """Called after the last batch of each epoch."""

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool | None:
        """An epoch has ended; True ends training.

        Parameters
        ----------
        estimator : Estimator
            Whose training it is.
        """
        return False


class BatchBegin(EventHandler):
    """Called before each batch, with the keyword `batch`."""

    def batch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """A batch begins.

        Parameters
        ----------
        estimator : Estimator
            Whose training it is.
        """


class BatchEnd(EventHandler):
    """Called after each batch, with the keywords `batch`, `pred`, `label` and `loss`; the last
    three are lists with an array for each context."""

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool | None:
        """A batch has ended; True ends this epoch.

        Parameters
        ----------
        estimator : Estimator
            Whose training it is.
        """
        return False


EVENTS = {
    "train_begin": TrainBegin,
    "epoch_begin": EpochBegin,
    "batch_begin": BatchBegin,
    "batch_end": BatchEnd,
    "epoch_end": EpochEnd,
    "train_end": TrainEnd,
}


def metric_list(metrics):
    """A list of metrics from one, a list, a composite one, or None."""
    if metrics is None:
        return []
    if isinstance(metrics, CompositeEvalMetric):
        return metric_list(metrics.metrics)
    found = list(metrics) if isinstance(metrics, (list, tuple)) else [metrics]
    if not all(isinstance(each, EvalMetric) for each in found):
        raise ArgumentError(
            f"metrics must be an EvalMetric or a list of them, got {shown(metrics)}"
        )
    return found
