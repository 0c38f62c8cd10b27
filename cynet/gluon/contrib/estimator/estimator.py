"""Estimator: trains and validates a network, and calls handlers of events."""

from __future__ import annotations

import copy
import logging
import sys
from typing import TYPE_CHECKING

from ....base.errors import ArgumentError, MismatchError, shown, warn_user
from ....base.guard import guarded
from ....base.kinds import to_index
from ....context import Context, cpu, num_gpus
from ....distributed import is_first
from ....metric import Accuracy
from ....metric import Loss as LossMetric
from ....module.ranks import create_ranks
from ...block import Block
from ...data import DataLoader
from ...loss import Loss, SoftmaxCrossEntropyLoss
from ...trainer import Trainer
from .batch_processor import BatchProcessor
from .events import EVENTS, EventHandler, metric_list
from .loop_handlers import GradientUpdateHandler, MetricHandler, StoppingHandler, ValidationHandler
from .progress import LoggingHandler

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....typing import EvalMetric, InitializerLike
    from ...parameter.parameter import Contexts

__all__ = ["Estimator"]


@guarded
class Estimator:
    """Trains a network: `fit` runs epochs or batches, and calls handlers at each event.

    With a trainer over several processes (``kvstore='dist_sync'``) gradients are divided by the
    examples of all ranks, an epoch ends with the first rank that has no further batch, metrics are
    those of all ranks when it has ended, and rank 0 logs and writes checkpoints.

    Parameters
    ----------
    net : Block
        The network; its parameters are initialized if they are not yet.
    loss : Loss
        Called with predictions and labels.
    train_metrics, val_metrics : EvalMetric or list of EvalMetric, optional
        By default the loss, and accuracy beside it if the loss is one of classes; those of
        validation are copies. ``'training '`` and ``'validation '`` are put before their names.
    initializer : Initializer, optional
        Initializer of parameters that are not initialized.
    trainer : Trainer, optional
        Updates the parameters; SGD with learning rate 0.001 by default.
    context : Context or list of Context, optional
        Devices to train on; several split each batch among them.
    val_net, val_loss : optional
        Network and loss of validation; by default those of training.
    batch_processor : BatchProcessor, optional
        Computes what is done with a batch; a BatchProcessor by default.

    Raises
    ------
    MismatchError
        An AssertionError: `context` names a GPU that is not there.
    ArgumentError
        `net` is not a Block, `loss` not a Loss, `trainer` not a Trainer, a metric not an
        EvalMetric, or `batch_processor` not a BatchProcessor.

    Examples
    --------
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    >>> estimator = Estimator(net, loss, trainer=trainer)
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, 2)
    >>> estimator.logger.setLevel("ERROR")
    >>> estimator.fit(loader, epochs=20)
    >>> estimator.train_metrics[0].get()
    ('training accuracy', 1.0)

    Validation has metrics of its own:

    >>> estimator.evaluate(loader)
    >>> estimator.val_metrics[0].get()
    ('validation accuracy', 1.0)
    """

    def __init__(
        self,
        net: Block,
        loss: Loss,
        train_metrics: EvalMetric | list[EvalMetric] | None = None,
        val_metrics: EvalMetric | list[EvalMetric] | None = None,
        initializer: InitializerLike | None = None,
        trainer: Trainer | None = None,
        context: Contexts | None = None,
        val_net: Block | None = None,
        val_loss: Loss | None = None,
        batch_processor: BatchProcessor | None = None,
    ) -> None:
        for each in (net, val_net):
            if each is not None and not isinstance(each, Block):
                raise ArgumentError(f"Estimator: net must be a Block, got {shown(each)}")
        self.net = net
        self.val_net = net if val_net is None else val_net
        self.loss = _check_loss(loss)
        self.val_loss = self.loss if val_loss is None else _check_loss(val_loss)
        self.max_epoch: int | None = None
        self.max_batch: int | None = None
        self.batch_axis = 0
        self._train_metrics = metric_list(train_metrics)
        self._val_metrics = metric_list(val_metrics)
        self._prefix_metric_names()
        self.logger = logging.Logger("Estimator", logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.logger.addFilter(lambda record: record.levelno > logging.INFO or is_first())
        self.context = _check_contexts(context)
        self._initialize(initializer)
        self.trainer = self._check_trainer(trainer)
        self._ranks = self._trainer_ranks()
        self.batch_processor = _check_processor(batch_processor)

    @property
    def train_metrics(self) -> list[EvalMetric]:
        """The metrics of training."""
        return self._train_metrics

    @property
    def val_metrics(self) -> list[EvalMetric]:
        """The metrics of validation."""
        return self._val_metrics

    def _prefix_metric_names(self):
        if not self._train_metrics:
            if isinstance(self.loss, SoftmaxCrossEntropyLoss):
                self._train_metrics.append(Accuracy())
            name = self.loss.name.rstrip("0123456789")
            self._train_metrics.append(LossMetric(name))
        if not self._val_metrics:
            self._val_metrics = [copy.deepcopy(each) for each in self._train_metrics]
        for kind, metrics in (("training", self._train_metrics), ("validation", self._val_metrics)):
            for each in metrics:
                each.name = f"{kind} {each.name}"

    def _initialize(self, initializer):
        params = self.net.collect_params().values()
        waiting = [each for each in params if each._data is None and not each._deferred_init]
        if waiting:
            self.net.initialize(
                **({} if initializer is None else {"init": initializer}), ctx=self.context
            )
        elif initializer is not None:
            warn_user(
                "Estimator: the network is initialized already, so initializer changes nothing;"
                " net.initialize(init, force_reinit=True) would"
            )

    def _check_trainer(self, trainer):
        if trainer is None:
            warn_user("Estimator: no trainer is given, so it is SGD with a learning rate of 0.001")
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ArgumentError(f"Estimator: trainer must be a gluon.Trainer, got {shown(trainer)}")
        return trainer

    def _trainer_ranks(self):
        return create_ranks(self.trainer._wished[0])

    def fit(
        self,
        train_data: DataLoader,
        val_data: DataLoader | None = None,
        epochs: int | None = None,
        event_handlers: EventHandler | Sequence[EventHandler] | None = None,
        batches: int | None = None,
        batch_axis: int = 0,
    ) -> None:
        """Train.

        Parameters
        ----------
        train_data, val_data : DataLoader
            Give pairs (data, label); with `val_data`, which may be None, each epoch ends with a
            validation.
        epochs, batches : int, optional
            Number of epochs, or of batches, to train; one of both is required.
        event_handlers : list of EventHandler, optional
            Handlers beside those of updates, metrics, validation, the end and logging.
        batch_axis : int
            The axis of the examples.

        Raises
        ------
        ArgumentError
            A ValueError: neither or both of `epochs` and `batches`; a handler refers to a metric
            that is not the estimator's; the data are not a DataLoader.
        """
        _check_loader(train_data)
        if (epochs is None) == (batches is None):
            raise ArgumentError(
                f"fit: give epochs or batches, and not both; got epochs={shown(epochs)},"
                f" batches={shown(batches)}"
            )
        for name, number in (("epochs", epochs), ("batches", batches)):
            if number is not None and to_index(f"fit: {name}", number) < 1:
                raise ArgumentError(f"fit: {name} must be 1 or more, got {number}")
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        self._ranks = self._trainer_ranks()
        tell = _EventHandlers(self, self._prepare_default_handlers(val_data, event_handlers))
        tell("train_begin")
        while True:
            tell("epoch_begin")
            empty = True
            for batch in self._batches_of_all_ranks(train_data):
                empty = False
                tell("batch_begin", batch=batch)
                _, label, pred, loss = self.batch_processor.fit_batch(self, batch, batch_axis)
                if tell("batch_end", batch=batch, pred=pred, label=label, loss=loss):
                    break
            if tell("epoch_end"):
                break
            if empty and epochs is None:
                raise ArgumentError("fit: train_data has no batches, so there will never be enough")
        tell("train_end")

    def _batches_of_all_ranks(self, data):
        """Yield the batches of an epoch until one of the ranks has none left."""
        if self._ranks.size == 1:
            yield from data
            return
        batches = iter(data)
        batch = next(batches, None)
        while self._ranks.vote_on_next_batch(batch is not None)():
            yield batch
            batch = next(batches, None)

    def evaluate(
        self,
        val_data: DataLoader,
        batch_axis: int = 0,
        event_handlers: EventHandler | Sequence[EventHandler] | None = None,
    ) -> None:
        """Validate the network; `val_metrics` hold the results.

        Parameters
        ----------
        val_data : DataLoader
            Gives pairs (data, label).
        batch_axis : int
            The axis of the examples.
        event_handlers : list of EventHandler, optional
            Handlers of epoch_begin, batch_begin, batch_end and epoch_end.

        Raises
        ------
        ArgumentError
            `val_data` is not a DataLoader, or a handler refers to a metric that is not the
            estimator's.
        """
        _check_loader(val_data)
        self._ranks = self._trainer_ranks()
        tell = _EventHandlers(self, self._prepare_default_validation_handlers(event_handlers))
        tell("epoch_begin")
        for batch in val_data:
            tell("batch_begin", batch=batch)
            _, label, pred, loss = self.batch_processor.evaluate_batch(self, batch, batch_axis)
            tell("batch_end", batch=batch, pred=pred, label=label, loss=loss)
        tell("epoch_end")

    def _prepare_default_handlers(self, val_data, event_handlers):
        """Return the handlers of `fit` in the order of calls."""
        handlers = _handler_list(event_handlers)
        handlers.append(StoppingHandler(self.max_epoch, self.max_batch))
        kinds = {kind for each in handlers for kind in type(each).__mro__}
        if GradientUpdateHandler not in kinds:
            handlers.append(GradientUpdateHandler())
        if MetricHandler not in kinds:
            handlers.append(MetricHandler(self._train_metrics))
        if val_data is not None and ValidationHandler not in kinds:
            handlers.append(ValidationHandler(val_data, self.evaluate))
        if LoggingHandler not in kinds:
            handlers.append(LoggingHandler(metrics=self._train_metrics))
        self._check_metrics(handlers)
        return _sort_by_priority(handlers)

    def _prepare_default_validation_handlers(self, event_handlers):
        """Return the handlers of `evaluate` in the order of calls."""
        handlers = _handler_list(event_handlers)
        kinds = {kind for each in handlers for kind in type(each).__mro__}
        if MetricHandler not in kinds:
            handlers.append(MetricHandler(self._val_metrics))
        if LoggingHandler not in kinds:
            handlers.append(LoggingHandler(metrics=self._val_metrics))
        self._check_metrics(handlers)
        return _sort_by_priority(handlers)

    def _categorize_handlers(self, event_handlers):
        """Return a list of handlers for each event, in the order of `EVENTS`."""
        return tuple(
            [each for each in event_handlers if isinstance(each, kind)] for kind in EVENTS.values()
        )

    def _check_metrics(self, handlers):
        """Raise an error if a handler monitors a metric that nothing updates."""
        known = {id(each) for each in self._train_metrics + self._val_metrics}
        for handler in handlers:
            used = [*(getattr(handler, "metrics", None) or []), getattr(handler, "monitor", None)]
            for metric in used:
                if metric is not None and id(metric) not in known:
                    raise ArgumentError(
                        f"{type(handler).__name__} looks at a metric {metric.name!r} that nothing"
                        " updates; take one of estimator.train_metrics or estimator.val_metrics"
                    )


class _EventHandlers:  # the handlers to call at each event
    """The handlers of each event; ``self(event)`` calls them: has one returned True?"""

    def __init__(self, estimator, handlers):
        self._estimator = estimator
        self._methods = {
            name: [getattr(each, name) for each in chosen]
            for name, chosen in zip(EVENTS, estimator._categorize_handlers(handlers))
        }

    def __call__(self, event, **what):
        answers = [method(self._estimator, **what) for method in self._methods[event]]
        return any(answers)


def _handler_list(handlers):
    if handlers is None:
        return []
    found = list(handlers) if isinstance(handlers, (list, tuple)) else [handlers]
    if not all(isinstance(each, EventHandler) for each in found):
        raise ArgumentError(
            f"event_handlers must be an EventHandler or a list of them, got {shown(handlers)}"
        )
    return found


def _sort_by_priority(handlers):
    return sorted(handlers, key=lambda each: getattr(each, "priority", 0))


def _check_loader(data):
    if not isinstance(data, DataLoader):
        raise ArgumentError(
            f"Estimator: data must be a gluon.data.DataLoader, got {shown(data)}; arrays become one"
            " by DataLoader(ArrayDataset(data, label), batch_size)"
        )


def _check_loss(loss):
    if not isinstance(loss, Loss):
        raise ArgumentError(f"Estimator: loss must be a gluon.loss.Loss, got {shown(loss)}")
    return loss


def _check_contexts(context):
    found = list(context) if isinstance(context, (list, tuple)) else [context or cpu()]
    if not found or not all(isinstance(each, Context) for each in found):
        raise ArgumentError(
            f"Estimator: context must be a Context or a list of them, got {shown(context)}"
        )
    absent = [c for c in found if c.device_type == "gpu" and c.device_id >= num_gpus()]
    if absent:
        raise MismatchError(
            f"Estimator: context {absent[0]} is not there: this machine has {num_gpus()} GPUs"
        )
    return found


def _check_processor(processor):
    if processor is None:
        return BatchProcessor()
    if not all(callable(getattr(processor, n, None)) for n in ("fit_batch", "evaluate_batch")):
        raise ArgumentError(
            "Estimator: batch_processor needs methods fit_batch and evaluate_batch, got"
            f" {shown(processor)}"
        )
    return processor
