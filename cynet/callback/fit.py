"""Callbacks of ``Module.fit(callbacks=...)``: early stopping, the best checkpoint, histories"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import math
import numbers
import time
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, CynetError, StateError, UndefinedError, shown
from ..base.files import file_name, write_atomically
from ..base.guard import guarded
from ..base.kinds import to_index
from ..base.reprs import SettingsRepr
from ..distributed import is_first
from ..metric.base import METRICS
from ..ndarray.composed import isnan
from .messages import log_message

_PACKAGE = __name__.partition(".")[0]

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import EvalMetric, FileName, History, Module, Optimizer

__all__ = ["FitCallback", "FitState", "HistoryFile", "StopOnNaN", "StopTraining", "TimeLeft"]


class StopTraining(Exception):
    """Raised by a callback of ``fit`` to end training: at once, or from ``FitCallback.epoch_end``
    after the other callbacks. Its text is logged, and the ``reason`` of the history."""


class FitState:
    """The state of ``fit`` as callbacks see it.

    Attributes
    ----------
    module : BaseModule
        The module that is trained.
    epoch, num_epoch : int
        Number of the present epoch, and of the one to stop before.
    nbatch : int
        Number of the last batch in the epoch; -1 before the first.
    eval_metric : EvalMetric
        Metric of the training data in this epoch.
    history : History
        Results so far; its last row is that of the epoch at ``epoch_end``.
    columns : tuple of str, or None
        Names of the results that there will be, ``'Train-accuracy'``; None if a metric of the
        user's tells its names only after the first epoch.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros(8), batch_size=4)
    >>> class Halving(mx.callback.FitCallback):
    ...     def begin(self, state):
    ...         state.check_figure("accuracy")  # refused if no figure has this name
    ...     def epoch_end(self, state):
    ...         state.optimizer.set_learning_rate(state.optimizer.learning_rate / 2)
    ...         print(state.epoch, state.figure("accuracy"), state.optimizer.learning_rate)
    >>> history = module.fit(
    ...     data,
    ...     num_epoch=2,
    ...     optimizer_params={"learning_rate": 0.4},
    ...     callbacks=[Halving()],
    ...     initializer=mx.init.Zero(),
    ...     verbose=False,
    ... )
    0 1.0 0.2
    1 1.0 0.1
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
        return self.module._updater_with_states("fit: callbacks").optimizer

    def figure(self, name: str) -> float:
        """Return a metric's value in the last epoch.

        Parameters
        ----------
        name : str
            ``'Validation-accuracy'``, ``'Train-accuracy'``, or ``'accuracy'``, which is that of the
            validation if there is one. Short names of ``eval_metric``, such as ``'acc'``, are
            allowed.

        Raises
        ------
        ArgumentError
            That is not a metric of this training; the message lists those that are.
        """
        columns = self.history.metrics
        return columns[_find_column_name(name, columns)][-1]

    def check_figure(self, name: str) -> None:
        """Raise an error if this training will not have a metric of this name.

        Parameters
        ----------
        name : str
            Name of a metric, see `figure`.

        Raises
        ------
        ArgumentError
            That will not be a metric of this training; the message lists those that will.
        """
        if self.columns is not None:
            _find_column_name(name, self.columns)


def _find_column_name(name, columns):
    """Return the name of the history's column that a user's name stands for."""
    words = [name]
    part, dash, rest = name.rpartition("-")
    cls = METRICS.table.get((rest or name).lower())
    # "acc" is an alias of accuracy; other names are no metrics, or metrics that need arguments
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


def history_columns(metrics):
    """Return the columns of a history, for pairs ("Train", metric); None for a user's metric class,
    whose names are unknown before training.

    >>> history_columns([("Train", mx.metric.create(["acc", "ce"]))])
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
    """Call ``epoch_end``, then ``epoch_closed`` of each callback; returns the StopTraining that an
    ``epoch_end`` has raised, or None."""
    stop = None
    for each in callbacks:
        try:
            each.epoch_end(state)
        except StopTraining as raised:
            stop = raised
    for each in callbacks:
        each.epoch_closed(state)
    if stop is not None:
        state.history.reason = str(stop)
        logging.info("Epoch[%d] training ends: %s", state.epoch, stop)
    return stop


class FitCallback(SettingsRepr):
    """Base of the callbacks of ``fit(callbacks=[...])``; each method is called with a `FitState`.

    Examples
    --------
    One that stops after so many batches of a training, which may be resumed:

    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros(8), batch_size=4)
    >>> class Limit(mx.callback.FitCallback):
    ...     def begin(self, state):
    ...         self.batches = 0
    ...     def batch_end(self, state):
    ...         self.batches += 1
    ...     def epoch_end(self, state):
    ...         if self.batches >= 3:
    ...             raise mx.callback.StopTraining(f"{self.batches} batches are enough")
    ...     def end(self, state):
    ...         print("the last epoch is", state.epoch)
    ...     def state_dict(self):
    ...         return {"batches": self.batches}
    ...     def load_state_dict(self, state):
    ...         self.batches = state["batches"]
    >>> history = module.fit(data, num_epoch=9, callbacks=[Limit()], verbose=False)
    the last epoch is 1
    >>> history.reason
    '4 batches are enough'
    """

    def begin(self, state: FitState) -> None:
        """Called before the first epoch.

        Parameters
        ----------
        state : FitState
            The module, the epoch, the metric and the history of this training.
        """

    def batch_end(self, state: FitState) -> None:
        """After each batch.

        Parameters
        ----------
        state : FitState
            The module, the epoch, the metric and the history of this training.
        """

    def epoch_trained(self, state: FitState) -> None:
        """Called after the batches of an epoch, before its validation.

        Examples
        --------
        >>> class Trained(mx.callback.FitCallback):
        ...     def epoch_trained(self, state):
        ...         print("trained", state.epoch)
        ...     def epoch_end(self, state):
        ...         print("validated", state.epoch)
        ...     def epoch_closed(self, state):
        ...         print("closed", state.epoch)
        >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
        >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros(8), batch_size=4)
        >>> history = module.fit(data, data, num_epoch=1, callbacks=[Trained()], verbose=False)
        trained 0
        validated 0
        closed 0
        """

    def epoch_end(self, state: FitState) -> None:
        """Called after each epoch and its validation.

        Parameters
        ----------
        state : FitState
            The module, the epoch, the metric and the history of this training.
        """

    def epoch_closed(self, state: FitState) -> None:
        """Called after ``epoch_end`` of all callbacks, before ``fit(resume=...)`` writes its file.

        Examples
        --------
        >>> class Swap(mx.callback.FitCallback):  # validation by other weights than training
        ...     def epoch_trained(self, state):
        ...         self.kept = state.module.get_params()
        ...         state.module.set_params(self.averaged, {}, allow_missing=True)
        ...     def epoch_closed(self, state):
        ...         state.module.set_params(*self.kept)
        """

    def end(self, state: FitState) -> None:
        """Called after the last epoch, or when an error ends training.

        Parameters
        ----------
        state : FitState
            The module, the epoch, the metric and the history of this training.
        """

    def state_dict(self) -> dict[str, Any]:
        """The state that ``fit(resume=...)`` saves: NDArrays and values that JSON can hold.

        Returns
        -------
        dict
        """
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the state that `state_dict` returned.

        Parameters
        ----------
        state : dict
            What `state_dict` returned.
        """


class StopOnNaN(FitCallback):
    """Ends training when a metric or the network's output is NaN.

    Accuracy is no nan where the outputs are, so the outputs of the last batch are looked at, too.

    Parameters
    ----------
    period : int
        Number of batches between checks, each of which waits for the batch; 0 checks after epochs
        only.

    Raises
    ------
    ArgumentError
        `period` is below 0.
    ArgumentTypeError
        `period` is not an int.

    Examples
    --------
    ``mx.debug_nans()`` then names the operator that made the first one.

    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros(8), batch_size=4)
    >>> data = mx.io.NDArrayIter(mx.nd.full((8, 3), float("nan")), mx.nd.zeros(8), batch_size=4)
    >>> stopping = mx.callback.StopOnNaN(period=1)
    >>> history = module.fit(
    ...     data, eval_metric="ce", num_epoch=9, callbacks=[stopping], verbose=False
    ... )
    >>> history.reason
    'cross-entropy is nan after batch 0'
    """

    def __init__(self, period: int = 50) -> None:
        self.period = to_index("StopOnNaN: period", period, "an int of 0 or more")
        if self.period < 0:
            raise ArgumentError(
                f"StopOnNaN: period must be an int of 0 or more, got {shown(period)}"
            )

    def batch_end(self, state: FitState) -> None:
        """Check the training metric for NaN, every `period` batches."""
        if self.period and (state.nbatch + 1) % self.period == 0:
            figures = state.eval_metric.get_name_value()
            self._check_for_nan(figures, state.module, f"after batch {state.nbatch}")

    def epoch_end(self, state: FitState) -> None:
        """Check all metric values of the epoch for NaN."""
        figures = {name: values[-1] for name, values in state.history.metrics.items()}
        self._check_for_nan(figures.items(), state.module, f"after epoch {state.epoch}")

    @staticmethod
    def _check_for_nan(figures, module, when):
        for name, value in figures:
            if is_nan(value):
                raise StopTraining(f"{name} is nan {when}")
        name = find_nan_output(module)
        if name is not None:
            raise StopTraining(f"the output {name} is nan {when}")


def is_nan(value):
    """Return whether a metric's value is NaN; False if it is not a number.

    >>> is_nan(float("nan")), is_nan(1.0), is_nan("nan")
    (True, False, False)
    """
    return isinstance(value, numbers.Real) and math.isnan(value)


def find_nan_output(module):
    """Return the name of an output of the last batch that contains NaN, or None."""
    try:
        outputs = module.get_outputs()
    except UndefinedError:  # a user's module may lack this attribute
        return None
    except StateError:  # another thread predicts with the module and replaced its outputs
        return None
    for name, output in zip(module.output_names, outputs):
        if output.stype == "default" and isnan(output).sum().asscalar() > 0:
            return name
    return None


@guarded
class HistoryFile(FitCallback):
    """Writes a row of metric values after each epoch, as CSV or (``.jsonl``) JSON lines.

    Parameters
    ----------
    path : str
        A file whose name ends in ``.csv``, ``.jsonl`` or ``.json``. Training that is resumed
        appends rows, other training begins a new file.

    Raises
    ------
    ArgumentError
        `path` ends in none of the three.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros(8), batch_size=4)
    >>> figures = mx.callback.HistoryFile("figures.csv")
    >>> history = module.fit(data, num_epoch=2, callbacks=[figures], verbose=False)
    >>> with open("figures.csv") as file:
    ...     lines = file.read().splitlines()
    >>> len(lines), lines[0]
    (3, 'epoch,Train-accuracy,seconds')
    """

    def __init__(self, path: FileName) -> None:
        self.path = file_name(path, "HistoryFile: the file")
        if not self.path.endswith((".csv", ".jsonl", ".json")):
            raise ArgumentError(f"HistoryFile: {shown(path)} ends in none of .csv, .jsonl, .json")
        self.rows = []

    def epoch_end(self, state: FitState) -> None:
        """Add the epoch's row, and replace the file atomically."""
        figures = {name: values[-1] for name, values in state.history.metrics.items()}
        seconds = state.history.times[-1]
        self.rows.append({"epoch": state.epoch, **figures, "seconds": seconds})
        if self.path.endswith(".csv"):
            import csv  # imported late: rarely needed

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
        """Return the rows of all epochs so far."""
        return {"rows": self.rows}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the rows that `state_dict` returned."""
        self.rows = list(state["rows"])


class TimeLeft(FitCallback):
    """Logs after each epoch the estimated time that the remaining epochs will take.

    A line is ``Epoch[3] time left: 1:20:05``, in hours, minutes and seconds.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros(8), batch_size=4)
    >>> history = module.fit(data, num_epoch=2, callbacks=[mx.callback.TimeLeft()], verbose=False)
    """

    def begin(self, state: FitState) -> None:
        """Record the time at which training begins."""
        self._begin, self._first = time.monotonic(), state.epoch

    def epoch_end(self, state: FitState) -> None:
        """Log the estimated time left."""
        done = state.epoch - self._first + 1
        seconds = (time.monotonic() - self._begin) / done * (state.num_epoch - state.epoch - 1)
        hours, rest = divmod(round(seconds), 3600)
        log_message("Epoch[%d] time left: %d:%02d:%02d", state.epoch, hours, rest // 60, rest % 60)
