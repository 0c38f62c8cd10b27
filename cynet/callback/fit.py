"""What ``Module.fit(callbacks=...)`` calls: early stopping, the best checkpoint, histories, ..."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import logging
import math
import numbers
import time
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, CynetError, counted, shown
from ..base.files import file_name, write_atomically
from ..base.guard import guarded
from ..base.kinds import to_index
from ..distributed import is_first
from ..io.checkpoint import check_prefix
from ..metric.base import METRICS
from ..metric.direction import larger_is_better
from .lines import say

_PACKAGE = __name__.partition(".")[0]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import EvalMetric, FileName, History, Module, Optimizer


class StopTraining(Exception):
    """Any callback of ``fit`` raises it to end training: from ``FitCallback.epoch_end`` after those
    of the others, from elsewhere at once. Its text is logged, and the ``reason`` of the history."""


class FitState:
    """Where ``fit`` is, as callbacks see it.

    Attributes
    ----------
    module : BaseModule
    epoch, num_epoch : int
        The epoch that runs, and the one to stop before.
    nbatch : int
        The batch of the epoch that is done.
    eval_metric : EvalMetric
    history : History
        Its last row is the epoch's, at ``epoch_end``.
    columns : tuple of str, or None
        The names of figures that there will be, ``'Train-accuracy'``; None where a metric of the
        user's says them only after the first epoch.
    """

    def __init__(
        self,
        module: Module,
        epoch: int,
        num_epoch: int,
        eval_metric: EvalMetric,
        history: History,
        columns: Sequence[str] | None = None,
    ) -> None:
        self.module, self.epoch, self.num_epoch = module, epoch, num_epoch
        self.eval_metric, self.history, self.columns = eval_metric, history, columns
        self.nbatch = -1

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer, whose learning rate a callback may set."""
        return self.module._updater_of_states("fit: callbacks").optimizer

    def figure(self, name: str) -> float:
        """The last epoch's value of a metric: ``'Validation-accuracy'``, ``'Train-accuracy'``, or
        ``'accuracy'``, which is the validation's where there is one. What ``eval_metric`` takes for
        it, ``'acc'``, does as well.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        float

        Raises
        ------
        ArgumentError
            That is not a metric of this training.
        """
        columns = self.history.metrics
        return columns[_column(name, columns)][-1]

    def check_figure(self, name: str) -> None:
        """Refuse the name of a figure that this training will not have.

        Parameters
        ----------
        name : str
            Its name.
        """
        if self.columns is not None:
            _column(name, self.columns)


def _column(name, columns):
    """Which of the columns of a history a name means."""
    words = [name]
    part, dash, rest = name.rpartition("-")
    cls = METRICS.table.get((rest or name).lower())
    # "acc" is what eval_metric calls accuracy; other words are not names of metrics, or of metrics
    # that need arguments
    with contextlib.suppress(TypeError, CynetError):
        words.append(part + dash + cls().name)
    for word in words:
        for each in (word, f"Validation-{word}", f"Train-{word}"):
            if each in columns:
                return each
    raise ArgumentError(
        f"fit has no metric {shown(name)}; there are {', '.join(columns)}, and the names without"
        " Train- and Validation-"
    )


def columns_of(metrics):
    """The columns that a history will have, of pairs ("Train", metric); None where a metric is of
    the user's own class, which may name its figures later.

    >>> import cynet as mx
    >>> columns_of([("Train", mx.metric.create(["acc", "ce"]))])
    ('Train-accuracy', 'Train-cross-entropy')
    """
    found = []
    for part, metric in metrics:
        parts = getattr(metric, "metrics", None) or [metric]
        if any(type(each).__module__.partition(".")[0] != _PACKAGE for each in (metric, *parts)):
            return None
        found += [f"{part}-{name}" for name, _ in metric.get_global_name_value()]
    return tuple(found)


def end_epoch(callbacks, state):
    """Call ``epoch_end``, then ``epoch_closed`` of each; the StopTraining that an ``epoch_end`` has
    raised, or None."""
    stop = None
    for each in callbacks:
        try:
            each.epoch_end(state)
        except StopTraining as asked:
            stop = asked
    for each in callbacks:
        each.epoch_closed(state)
    if stop is not None:
        state.history.reason = str(stop)
        logging.info("Epoch[%d] training ends: %s", state.epoch, stop)
    return stop


class FitCallback:
    """Base of what ``fit(callbacks=[...])`` calls, each method with a `FitState`.

    Examples
    --------
    >>> class Hourly(FitCallback):
    ...     def batch_end(self, state):
    ...         if state.nbatch > 100:
    ...             raise StopTraining("that is enough")
    >>> FitCallback().epoch_trained(None)  # nothing, unless a subclass defines it
    >>> FitCallback().epoch_closed(None)
    """

    def begin(self, state: FitState) -> None:
        """Before the first epoch.

        Parameters
        ----------
        state : FitState
            Where ``fit`` is.
        """

    def batch_end(self, state: FitState) -> None:
        """After each batch.

        Parameters
        ----------
        state : FitState
            Where ``fit`` is.
        """

    def epoch_trained(self, state: FitState) -> None:
        """After the batches of an epoch, before its validation.

        Parameters
        ----------
        state : FitState
            Where ``fit`` is.
        """

    def epoch_end(self, state: FitState) -> None:
        """After each epoch and its validation.

        Parameters
        ----------
        state : FitState
            Where ``fit`` is.
        """

    def epoch_closed(self, state: FitState) -> None:
        """After ``epoch_end`` of all callbacks, before ``fit(resume=...)`` writes its file.

        Parameters
        ----------
        state : FitState
            Where ``fit`` is.
        """

    def end(self, state: FitState) -> None:
        """After the last epoch, or when an error ends training.

        Parameters
        ----------
        state : FitState
            Where ``fit`` is.
        """

    def state_dict(self) -> dict[str, Any]:
        """What ``fit(resume=...)`` keeps of it: NDArrays, and what JSON can hold.

        Returns
        -------
        dict
        """
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take `state_dict` back.

        Parameters
        ----------
        state : dict
            What ``state_dict`` gave.
        """


class _Watching(FitCallback):
    """Knows the best value of a metric so far.

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
        """Refuse a metric that this training will not have."""
        state.check_figure(self.monitor)

    def _improves(self, state):
        """Whether this epoch's value is the best; counts those since."""
        value = state.figure(self.monitor)
        better = self.best is None or self._sign * (value - self.best) > self.min_delta
        if better and not math.isnan(value):
            self.best, self.best_epoch, self.wait = value, state.epoch, 0
            return True
        self.wait += 1
        return False

    def state_dict(self) -> dict[str, Any]:
        """The best value, its epoch, and how many epochs have passed since."""
        return {"best": self.best, "best_epoch": self.best_epoch, "wait": self.wait}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take `state_dict` back."""
        for name in ("best", "best_epoch", "wait"):
            setattr(self, name, state[name])


@guarded
class EarlyStopping(_Watching):
    """Ends training when a metric has not improved for `patience` epochs.

    Parameters
    ----------
    monitor : str
        A metric: ``'accuracy'`` or ``'acc'`` of the evaluation, of training where there is none;
        ``'Train-accuracy'``, ``'Validation-accuracy'``. ``fit`` refuses other names when it begins.
    patience : int
        Epochs without improvement that are allowed.
    min_delta : float
        By how much a value must be better to count.
    mode : str
        ``'min'``, ``'max'``; ``'auto'`` takes what the metric's name says.

    Examples
    --------
    >>> stopping = EarlyStopping("accuracy", patience=3)
    """

    def __init__(
        self, monitor: str, patience: int = 0, min_delta: float = 0.0, mode: str = "auto"
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        self.patience = patience

    def epoch_end(self, state: FitState) -> None:
        """Stop when it has been too long."""
        if not self._improves(state) and self.wait > self.patience:
            raise StopTraining(
                f"{self.monitor} has not improved on {self.best} of epoch {self.best_epoch} for"
                f" {counted(self.wait, 'epoch')}"
            )


@guarded
class BestCheckpoint(_Watching):
    """Saves the module as ``PREFIX-symbol.json`` and ``PREFIX-0000.params`` whenever a metric is
    the best so far.

    Parameters
    ----------
    prefix : str
    monitor, mode, min_delta
        See `EarlyStopping`.
    save_optimizer_states : bool
        Also write ``PREFIX-0000.states``.

    Examples
    --------
    >>> best = BestCheckpoint("best", "accuracy")  # Module.load("best", 0) reads it
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
        """Save, if this epoch is the best."""
        if self._improves(state) and is_first():
            state.module.save_checkpoint(self.prefix, 0, self.save_optimizer_states)


@guarded
class ReduceOnPlateau(_Watching):
    """Multiplies the learning rate by `factor` when a metric has not improved for `patience`
    epochs.

    Parameters
    ----------
    monitor : str
    factor : float
        Above 0, below 1.
    patience : int
        Epochs without improvement that are allowed, each time.
    min_lr : float
        The learning rate falls no further.
    min_delta, mode
        See `EarlyStopping`.

    Raises
    ------
    ArgumentError
        A value is not one of those allowed; the message names it.

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
        """Refuse an optimizer whose learning rate follows a schedule."""
        super().begin(state)
        if state.optimizer.lr_scheduler is not None:
            raise CynetError(
                "ReduceOnPlateau: the optimizer has an lr_scheduler, which sets the learning rate"
            )

    def epoch_end(self, state: FitState) -> None:
        """Lower the learning rate, if it has been too long."""
        if self._improves(state) or self.wait <= self.patience:
            return
        self.wait = 0
        optimizer = state.optimizer
        before = optimizer.learning_rate
        after = max(before * self.factor, self.min_lr)
        if after < before:
            optimizer.set_learning_rate(after)
            say("Epoch[%d] learning rate is now %g", state.epoch, after)


class StopOnNaN(FitCallback):
    """Ends training when a figure of it is nan.

    Parameters
    ----------
    period : int
        Batches from look to look; each look waits for the batch. 0: after each epoch alone.

    Raises
    ------
    ArgumentError
        A value is not one of those allowed; the message names it.

    Examples
    --------
    ``module.fit(data, callbacks=[mx.callback.StopOnNaN()])``; ``mx.debug_nans()`` then names the
    operator that made the first one.
    """

    def __init__(self, period: int = 50) -> None:
        self.period = to_index("StopOnNaN: period", period, "an int of 0 or more")
        if self.period < 0:
            raise ArgumentError(
                f"StopOnNaN: period must be an int of 0 or more, got {shown(period)}"
            )

    def batch_end(self, state: FitState) -> None:
        """Look, every `period` batches."""
        if self.period and (state.nbatch + 1) % self.period == 0:
            self._look(state.eval_metric.get_name_value(), f"after batch {state.nbatch}")

    def epoch_end(self, state: FitState) -> None:
        """Look at all figures of the epoch."""
        figures = {name: values[-1] for name, values in state.history.metrics.items()}
        self._look(figures.items(), f"after epoch {state.epoch}")

    @staticmethod
    def _look(figures, when):
        for name, value in figures:
            if is_nan(value):
                raise StopTraining(f"{name} is nan {when}")


def is_nan(value):
    """Whether a figure is nan; figures that are not numbers are not.

    >>> is_nan(float("nan")), is_nan(1.0), is_nan("nan")
    (True, False, False)
    """
    return isinstance(value, numbers.Real) and math.isnan(value)


@guarded
class HistoryFile(FitCallback):
    """Writes a row of figures after each epoch: CSV, or JSON lines where the name says ``.jsonl``.

    Parameters
    ----------
    path : str
        Ends in ``.csv``, ``.jsonl`` or ``.json``. Training that resumes adds rows, others begin
        anew.

    Raises
    ------
    ArgumentError
        A value is not one of those allowed; the message names it.
    """

    def __init__(self, path: FileName) -> None:
        self.path = file_name(path, "HistoryFile: the file")
        if not self.path.endswith((".csv", ".jsonl", ".json")):
            raise ArgumentError(f"HistoryFile: {shown(path)} ends in none of .csv, .jsonl, .json")
        self.rows = []

    def epoch_end(self, state: FitState) -> None:
        """Write the file, with the epoch's row, whole or not at all."""
        figures = {name: values[-1] for name, values in state.history.metrics.items()}
        seconds = state.history.times[-1]
        self.rows.append({"epoch": state.epoch, **figures, "seconds": seconds})
        if self.path.endswith(".csv"):
            import csv  # here, because it is hardly ever needed

            names = dict.fromkeys(name for row in self.rows for name in row)
            text = io.StringIO()
            writer = csv.DictWriter(text, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
            content = text.getvalue()
        else:
            content = "".join(f"{json.dumps(row)}\n" for row in self.rows)
        if is_first():
            write_atomically(self.path, content.encode())

    def state_dict(self) -> dict[str, Any]:
        """The rows so far."""
        return {"rows": self.rows}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take the rows back."""
        self.rows = list(state["rows"])


class TimeLeft(FitCallback):
    """Logs after each epoch how long the remaining ones will take, as the epochs so far did."""

    def begin(self, state: FitState) -> None:
        """Take the time."""
        self._begin, self._first = time.monotonic(), state.epoch

    def epoch_end(self, state: FitState) -> None:
        """Log it."""
        done = state.epoch - self._first + 1
        seconds = (time.monotonic() - self._begin) / done * (state.num_epoch - state.epoch - 1)
        hours, rest = divmod(round(seconds), 3600)
        say("Epoch[%d] time left: %d:%02d:%02d", state.epoch, hours, rest // 60, rest % 60)
