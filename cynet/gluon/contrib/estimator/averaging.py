"""AveragingHandler: an Estimator validates, saves and ends with averaged weights."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentError, ArgumentTypeError, shown
from ....base.kinds import to_index
from ...averaging import EMA, SWA
from .events import BatchEnd, EpochBegin, EpochEnd, TrainBegin, TrainEnd

if TYPE_CHECKING:
    from .estimator import Estimator


class AveragingHandler(TrainBegin, EpochBegin, BatchEnd, EpochEnd, TrainEnd):
    """Updates an EMA after each batch, or an SWA after each epoch.

    Between epochs the network has the means: validation and checkpoints at the end of an epoch are
    of them, as in ``Module.fit`` with ``mx.callback.EMA``. When training has ended it keeps them.
    A loop that is to be resumed exactly is written by ``gluon.save_training(average=...)``.

    Parameters
    ----------
    average : gluon.EMA or gluon.SWA
        Average of the estimator's network.
    start : int
        Number of epochs at the beginning that are not averaged.
    priority : float
        Handlers run in rising order: this one after updates (-2000) and before validation (-1000).

    Raises
    ------
    ArgumentTypeError
        `average` is neither an EMA nor an SWA, or `start` is not an int.
    ArgumentError
        `start` is below 0.

    Examples
    --------
    >>> from cynet.gluon.contrib.estimator import AveragingHandler, Estimator
    >>> net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.L2Loss(), mx.metric.MSE(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[1]]), mx.nd.array([[1]]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> average = mx.gluon.SWA(net)
    >>> estimator.fit(loader, epochs=2, event_handlers=[AveragingHandler(average)])
    >>> average.count, float(net.weight.data().asscalar())  # the mean of 0.5 and 0.75
    (2, 0.625)
    """

    def __init__(self, average: EMA | SWA, start: int = 0, priority: float = -1500) -> None:
        if not isinstance(average, (EMA, SWA)):
            raise ArgumentTypeError(
                f"AveragingHandler: average must be a gluon.EMA or gluon.SWA, got {shown(average)}"
            )
        self.average, self.priority = average, priority
        self.start = to_index("AveragingHandler: start", start, "an int of 0 or more")
        if self.start < 0:
            raise ArgumentError(f"AveragingHandler: start must be 0 or more, got {self.start}")
        self._epoch, self._means = 0, contextlib.ExitStack()

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Count epochs from 0."""
        self._epoch = 0

    def epoch_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Restore the network's trained weights."""
        self._means.close()

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Update an EMA."""
        if isinstance(self.average, EMA) and self._epoch >= self.start:
            self.average.update()

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Update an SWA, and set the network's weights to the means."""
        if isinstance(self.average, SWA) and self._epoch >= self.start:
            self.average.update()
        self._epoch += 1
        if self.average.count:
            self._means.enter_context(self.average.applied())

    def train_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Keep the means as the network's weights when training ends."""
        self._means.close()
        if self.average.count:
            self.average.apply()
