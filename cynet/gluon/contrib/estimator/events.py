"""Events of a training loop: a handler inherits from the events that it handles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentError, shown
from ....base.guard import Guarded
from ....metric import CompositeEvalMetric, EvalMetric

if TYPE_CHECKING:
    from .estimator import Estimator


class EventHandler(Guarded):
    """Base of all handlers.

    Those of one event are called in the order of their attribute `priority`, 0 where there is
    none, the lowest first.
    """


class TrainBegin(EventHandler):
    """Called once, before the first epoch.

    Examples
    --------
    >>> from cynet.gluon.contrib.estimator import Estimator, TrainBegin
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> class Rate(TrainBegin):
    ...     def train_begin(self, estimator, *args, **kwargs):
    ...         print("learning rate", estimator.trainer.learning_rate)
    >>> estimator.fit(loader, epochs=2, event_handlers=[Rate()])
    learning rate 0.5
    """

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Called before the first epoch; a subclass defines it.

        Parameters
        ----------
        *args, **kwargs
            Not used today; later versions may pass more.
        """


class TrainEnd(EventHandler):
    """Called once, after the last epoch.

    Examples
    --------
    >>> from cynet.gluon.contrib.estimator import Estimator, TrainEnd
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> class Result(TrainEnd):
    ...     def train_end(self, estimator, *args, **kwargs):
    ...         print(estimator.train_metrics[0].get())
    >>> estimator.fit(loader, epochs=20, event_handlers=[Result()])
    ('training accuracy', 1.0)
    """

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Called after the last epoch; a subclass defines it.

        Parameters
        ----------
        *args, **kwargs
            Not used today; later versions may pass more.
        """


class EpochBegin(EventHandler):
    """Called before the first batch of each epoch.

    Examples
    --------
    >>> from cynet.gluon.contrib.estimator import EpochBegin, Estimator
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> class Halve(EpochBegin):
    ...     def epoch_begin(self, estimator, *args, **kwargs):
    ...         estimator.trainer.set_learning_rate(estimator.trainer.learning_rate / 2)
    >>> estimator.fit(loader, epochs=2, event_handlers=[Halve()])
    >>> estimator.trainer.learning_rate
    0.125
    """

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Called before an epoch; a subclass defines it.

        Parameters
        ----------
        *args, **kwargs
            Not used today; later versions may pass more.
        """


class EpochEnd(EventHandler):
    """Called after the last batch of each epoch.

    Examples
    --------
    >>> from cynet.gluon.contrib.estimator import EpochEnd, Estimator
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> class GoodEnough(EpochEnd):
    ...     def epoch_end(self, estimator, *args, **kwargs):
    ...         accuracy = estimator.train_metrics[0].get()[1]
    ...         print(accuracy)
    ...         return accuracy == 1
    >>> estimator.fit(loader, epochs=20, event_handlers=[GoodEnough()])
    0.5
    0.5
    0.5
    1.0
    """

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool | None:
        """Called after an epoch; a subclass defines it.

        Parameters
        ----------
        *args, **kwargs
            Not used today; later versions may pass more.

        Returns
        -------
        bool or None
            True ends training.
        """
        return False


class BatchBegin(EventHandler):
    """Called before each batch, with the keyword `batch`.

    Examples
    --------
    >>> from cynet.gluon.contrib.estimator import BatchBegin, Estimator
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> class Shapes(BatchBegin):
    ...     def batch_begin(self, estimator, *args, **kwargs):
    ...         data, label = kwargs["batch"]
    ...         print(data.shape, label.shape)
    >>> estimator.fit(loader, batches=2, event_handlers=[Shapes()])
    (1, 1) (1,)
    (1, 1) (1,)
    """

    def batch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Called before a batch; a subclass defines it.

        Parameters
        ----------
        *args, **kwargs
            ``batch``, as the loader gave it.
        """


class BatchEnd(EventHandler):
    """Called after each batch, with the keywords `batch`, `pred`, `label` and `loss`.

    The last three are lists with an array for each context.

    Examples
    --------
    >>> from cynet.gluon.contrib.estimator import BatchEnd, Estimator
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> class Losses(BatchEnd):
    ...     def batch_end(self, estimator, *args, **kwargs):
    ...         print([round(loss.mean().asscalar().item(), 2) for loss in kwargs["loss"]])
    >>> estimator.fit(loader, batches=2, event_handlers=[Losses()])
    [0.69]
    [0.97]
    """

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> bool | None:
        """Called after a batch; a subclass defines it.

        Parameters
        ----------
        *args, **kwargs
            ``batch``, ``pred``, ``label`` and ``loss``.

        Returns
        -------
        bool or None
            True ends this epoch.
        """
        return False


EVENTS = {  # method that handles an event -> base class of its handlers
    "train_begin": TrainBegin,
    "epoch_begin": EpochBegin,
    "batch_begin": BatchBegin,
    "batch_end": BatchEnd,
    "epoch_end": EpochEnd,
    "train_end": TrainEnd,
}


def metric_list(metrics):
    """Return a list of metrics, from a metric, a list, a composite metric, or None."""
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
