"""The result of ``fit``, a table of its epochs, and lines of it where no log is seen."""

from __future__ import annotations

import html
import numbers
import sys
import time
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, shown, warn_user
from ..base.guard import guarded
from ..callback.fit import is_nan
from ..callback.messages import shows_info
from ..distributed import is_first
from ..visualization.figures import new_figure, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..typing import FileName

_EPOCH_PAUSE = 0.5  # seconds from the line of one epoch to that of another, at least
_BATCH_PAUSE = 5.0  # seconds without a line after which a batch shows one


@guarded
class History:
    """The epochs of one call of ``fit``; shows itself as a table.

    Attributes
    ----------
    epochs : list of int
        Their numbers.
    metrics : dict of str to list of float
        ``'Train-accuracy'``, ``'Validation-accuracy'``, ...: a figure an epoch, nan where an epoch
        has none.
    times : list of float
        Seconds of training an epoch, as ``Time cost`` of the log; evaluation is not counted.
    reason : str or None
        Why a callback ended training, where one did.

    Examples
    --------
    >>> history = History()
    >>> history.add(0, 0.5, [("accuracy", 0.25)])
    >>> history.add_validation([("accuracy", 0.5)])
    >>> history
    epoch  Train-accuracy  Validation-accuracy  seconds
        0        0.250000             0.500000    0.500
    >>> history.metrics["Validation-accuracy"]
    [0.5]
    """

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.metrics: dict[str, list[float]] = {}
        self.times: list[float] = []
        self.reason: str | None = None

    def __len__(self) -> int:
        return len(self.epochs)

    def add(self, epoch: int, seconds: float, figures: Iterable[tuple[str, float]]) -> None:
        """Begin the row of an epoch: pairs (name, value) of training."""
        self.epochs.append(epoch)
        self.times.append(seconds)
        for values in self.metrics.values():
            values.append(float("nan"))
        self._set("Train", figures)

    def add_validation(self, figures: Iterable[tuple[str, float]]) -> None:
        """Complete the last row: pairs (name, value) of the evaluation."""
        self._set("Validation", figures)

    def _set(self, part, figures):
        for name, value in figures:
            column = self.metrics.setdefault(f"{part}-{name}", [float("nan")] * len(self.epochs))
            column[-1] = value

    def plot(self, path: FileName | None = None, metrics: Sequence[str] | None = None) -> Any:
        """Draw the figures over the epochs: training and validation of a metric together.

        Needs the package matplotlib: ``pip install 'cynet-mx[viz]'``.

        Parameters
        ----------
        path : str, optional
            A file, whose ending says which kind: ``'history.png'``, ``'history.svg'``, ...
        metrics : list of str, optional
            Names of metrics, ``['accuracy']``, one picture each; by default all.

        Returns
        -------
        matplotlib.figure.Figure
            A notebook shows it.

        Raises
        ------
        ArgumentError
            There is no such metric, or no epoch.

        Examples
        --------
        >>> history = History()
        >>> history.add(0, 0.5, [("accuracy", 0.25), ("cross-entropy", 1.5)])
        >>> history.add(1, 0.5, [("accuracy", 0.5), ("cross-entropy", 1.0)])
        >>> figure = history.plot("history.png", metrics=["accuracy"])
        >>> figure.axes[0].get_ylabel()
        'accuracy'
        """
        found = {}  # metric: its columns
        for column, values in self.metrics.items():
            if all(isinstance(value, numbers.Real) for value in values):
                part, _, name = column.partition("-")
                found.setdefault(name, {})[part] = values
        wanted = list(found) if metrics is None else list(metrics)
        for name in wanted:
            if name not in found:
                raise ArgumentError(
                    f"History.plot: there is no metric {shown(name)}, but {', '.join(found)}"
                )
        if not self.epochs or not wanted:
            raise ArgumentError("History.plot: no figures of an epoch are there")
        figure, places = new_figure("History.plot", len(wanted))
        for name, axes in zip(wanted, places):
            for part, values in found[name].items():
                axes.plot(self.epochs, values, marker="." if len(values) < 30 else "", label=part)
            axes.set(xlabel="epoch", ylabel=name)
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.legend()
        return written(figure, path, "History.plot")

    def _rows(self):
        yield ["epoch", *self.metrics, "seconds"]
        for i, epoch in enumerate(self.epochs):
            figures = [_text(values[i]) for values in self.metrics.values()]
            yield [str(epoch), *figures, f"{self.times[i]:.3f}"]

    def __repr__(self) -> str:
        rows = list(self._rows())
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows
        )

    def _repr_html_(self):
        head, *rows = (
            "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
            for tag, row in zip(["th"] + ["td"] * len(self.epochs), self._rows())
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def warn_of_nan(history):
    """Warn of a figure of the last epoch that is nan, if it is the first such epoch."""
    columns = history.metrics
    if any(is_nan(value) for values in columns.values() for value in values[:-1]):
        return
    for name, values in columns.items():
        if is_nan(values[-1]):
            warn_user(
                f"fit: {name} is nan after epoch {history.epochs[-1]}; mx.debug_nans() names the"
                " operator that makes the first one, callbacks=[mx.callback.StopOnNaN()] ends"
                " training there",
                RuntimeWarning,
            )
            return


class Progress:
    """Lines on stderr for whoever runs ``fit`` without a log or a callback that shows anything.

    Parameters
    ----------
    num_epoch : int
        The epoch that training stops before: the last one is always shown.
    batches : bool
        Also lines within a long epoch.
    """

    def __init__(self, num_epoch, batches=True):
        self.last, self.batches = num_epoch - 1, batches
        self._epoch_due = 0.0  # the first one is shown at once
        self._batch_due = time.monotonic() + _BATCH_PAUSE

    def batch(self, epoch, nbatch, metric):
        """A batch has ended."""
        if self.batches and time.monotonic() >= self._batch_due:
            self._show(f"Epoch[{epoch}] Batch[{nbatch}]", "Train", metric.get_name_value())

    def epoch(self, epoch, seconds, figures, validation):
        """An epoch has ended: pairs (name, value) of training and of the evaluation."""
        if time.monotonic() < self._epoch_due and epoch != self.last:
            return
        shown = [f" Validation-{name}={_text(value)}" for name, value in validation]
        self._show(f"Epoch[{epoch}]", "Train", figures, f"{''.join(shown)} ({seconds:.2f} s)")

    def note(self, line):
        """Show a line as it is."""
        print(line, file=sys.stderr, flush=True)

    def _show(self, where, part, figures, more=""):
        shown = "".join(f" {part}-{name}={_text(value)}" for name, value in figures)
        print(f"{where}{shown}{more}", file=sys.stderr, flush=True)
        now = time.monotonic()
        self._epoch_due, self._batch_due = now + _EPOCH_PAUSE, now + _BATCH_PAUSE


def note(logger, progress, line):
    """Log a line, and show it where there is a Progress."""
    logger.info("%s", line)
    if progress is not None:
        progress.note(line)


def progress_for(verbose, logger, batch_end_callback, num_epoch):
    """The Progress of a ``fit``, or None.

    Parameters
    ----------
    verbose : bool or None
        None: only where nobody would see anything, because INFO is not logged; lines of batches
        only where no callback looks at them.
    logger, batch_end_callback, num_epoch
        As ``fit`` has them.
    """
    if not is_first():
        return None
    if verbose or (verbose is None and not shows_info(logger)):
        return Progress(num_epoch, batches=bool(verbose) or batch_end_callback is None)
    return None


def _text(value):
    return f"{value:f}" if isinstance(value, numbers.Real) else str(value)
