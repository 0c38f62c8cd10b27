"""Callbacks that watch a metric: early stopping, the best checkpoint, lower learning rates."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, CynetError, counted, shown
from ..base.files import file_name
from ..base.guard import guarded
from ..distributed import is_first
from ..io.checkpoint import check_prefix
from ..metric.direction import larger_is_better
from .fit import FitCallback, StopTraining
from .messages import log_message

if TYPE_CHECKING:
    from ..typing import FileName
    from .fit import FitState

__all__ = ["BestCheckpoint", "EarlyStopping", "ReduceOnPlateau"]


class _MetricMonitor(FitCallback):
    """Base of callbacks that record the best value of a metric so far.

    An epoch whose value is nan is none of the better ones.
    """

    def __init__(self, monitor, mode, min_delta):
        self.monitor, self.mode, self.min_delta = monitor, mode, abs(min_delta)
        if mode not in ("auto", "min", "max"):
            raise ArgumentError(f"mode must be 'auto', 'min' or 'max', got {shown(mode)}")
        larger = larger_is_better(monitor) if mode == "auto" else mode == "max"
        if larger is None:
            raise ArgumentError(
                f"the name {shown(monitor)} does not say whether large values are good: give mode"
            )
        self._sign = 1 if larger else -1
        self.best, self.best_epoch, self.wait = None, None, 0

    def begin(self, state: FitState) -> None:
        """Raise an error if this training will not have the metric."""
        state.check_figure(self.monitor)

    def _has_improved(self, state):
        """Return whether this epoch's value is the best so far; count the epochs since the best."""
        value = state.figure(self.monitor)
        better = self.best is None or self._sign * (value - self.best) > self.min_delta
        if better and not math.isnan(value):
            self.best, self.best_epoch, self.wait = value, state.epoch, 0
            return True
        self.wait += 1
        return False

    def state_dict(self) -> dict[str, Any]:
        """Return the best value, its epoch, and the number of epochs since then."""
        return {"best": self.best, "best_epoch": self.best_epoch, "wait": self.wait}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in ("best", "best_epoch", "wait"):
            setattr(self, name, state[name])


@guarded
class EarlyStopping(_MetricMonitor):
    """Ends training when a metric has not improved for `patience` epochs.

    Parameters
    ----------
    monitor : str
        Name of a metric: ``'accuracy'`` or ``'acc'`` of the evaluation, or of training if there is
        none; ``'Train-accuracy'``, ``'Validation-accuracy'``. ``fit`` refuses unknown names when it
        begins.
    patience : int
        Number of epochs without improvement to allow.
    min_delta : float
        Smallest change that counts as an improvement.
    mode : str
        Which values are better: ``'min'``, ``'max'``, or ``'auto'``, which decides by the metric's
        name.

    Raises
    ------
    ArgumentError
        `mode` is not one of the three, or is ``'auto'`` for a metric whose name does not say.

    Examples
    --------
    The accuracy is 1 from the beginning, and cannot improve:

    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros(8), batch_size=4)
    >>> stopping = mx.callback.EarlyStopping("accuracy", patience=3)
    >>> history = module.fit(
    ...     data, num_epoch=99, callbacks=[stopping], initializer="zeros", verbose=False
    ... )
    >>> history.epochs, stopping.best_epoch
    ([0, 1, 2, 3, 4], 0)
    """

    def __init__(
        self, monitor: str, patience: int = 0, min_delta: float = 0.0, mode: str = "auto"
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        self.patience = patience

    def epoch_end(self, state: FitState) -> None:
        """Stop training if the metric has not improved for too many epochs."""
        if not self._has_improved(state) and self.wait > self.patience:
            raise StopTraining(
                f"{self.monitor} has not improved on {self.best} of epoch {self.best_epoch} for"
                f" {counted(self.wait, 'epoch')}"
            )


@guarded
class BestCheckpoint(_MetricMonitor):
    """Saves the module as ``PREFIX-symbol.json`` and ``PREFIX-0000.params`` whenever a metric is
    the best so far.

    Parameters
    ----------
    prefix : str
        Beginning of the files' names.
    monitor, mode, min_delta
        See `EarlyStopping`.
    save_optimizer_states : bool
        Also write ``PREFIX-0000.states``.

    Raises
    ------
    ArgumentError
        `mode` is not one of the three, or is ``'auto'`` for a metric whose name does not say.

    Examples
    --------
    >>> best = BestCheckpoint("best", "accuracy")  # Module.load("best", 0) reads the file
    """

    def __init__(
        self,
        prefix: FileName,
        monitor: str,
        mode: str = "auto",
        min_delta: float = 0.0,
        save_optimizer_states: bool = False,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        self.prefix = file_name(prefix, "BestCheckpoint: the beginning of file names")
        self.save_optimizer_states = save_optimizer_states
        self.check_before_training = functools.partial(check_prefix, self.prefix)

    def epoch_end(self, state: FitState) -> None:
        """Save the module if the metric is the best so far."""
        if self._has_improved(state) and is_first():
            state.module.save_checkpoint(self.prefix, 0, self.save_optimizer_states)


@guarded
class ReduceOnPlateau(_MetricMonitor):
    """Multiplies the learning rate by `factor` when a metric has not improved for `patience`
    epochs.

    Parameters
    ----------
    monitor : str
        Name of a metric, see `EarlyStopping`.
    factor : float
        Factor of the learning rate, above 0 and below 1.
    patience : int
        Number of epochs without improvement to allow, each time.
    min_lr : float
        Lower bound of the learning rate.
    min_delta, mode
        See `EarlyStopping`.

    Raises
    ------
    ArgumentError
        `factor` is not between 0 and 1, or `mode` is not one of the three, or is ``'auto'`` for a
        metric whose name does not say.
    CynetError
        From ``fit``: the optimizer has an ``lr_scheduler``, which sets the learning rate.

    Examples
    --------
    >>> plateau = ReduceOnPlateau("accuracy", factor=0.3, patience=2)
    """

    def __init__(
        self,
        monitor: str,
        factor: float = 0.1,
        patience: int = 10,
        min_lr: float = 0.0,
        min_delta: float = 0.0,
        mode: str = "auto",
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        if not 0 < factor < 1:
            raise ArgumentError(f"ReduceOnPlateau: factor must be in (0, 1), got {shown(factor)}")
        self.factor, self.patience, self.min_lr = factor, patience, min_lr

    def begin(self, state: FitState) -> None:
        """Raise an error if the optimizer's learning rate follows a schedule."""
        super().begin(state)
        if state.optimizer.lr_scheduler is not None:
            raise CynetError(
                "ReduceOnPlateau: the optimizer has an lr_scheduler, which sets the learning rate"
            )

    def epoch_end(self, state: FitState) -> None:
        """Lower the learning rate if the metric has not improved for too many epochs."""
        if self._has_improved(state) or self.wait <= self.patience:
            return
        self.wait = 0
        optimizer = state.optimizer
        before = optimizer.learning_rate
        after = max(before * self.factor, self.min_lr)
        if after < before:
            optimizer.set_learning_rate(after)
            log_message("Epoch[%d] learning rate is now %g", state.epoch, after)
