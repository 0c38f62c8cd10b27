"""History: the result of ``fit``, a table of its epochs."""

from __future__ import annotations

import html
import numbers
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, shown, warn_user
from ..base.guard import guarded
from ..callback.fit import is_nan
from ..visualization.figures import new_figure, save_figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..typing import FileName


@guarded
class History:
    """Metrics and times of the epochs of one ``fit``, shown as a table.

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
        """Add a row for an epoch, with pairs (name, value) of training."""
        self.epochs.append(epoch)
        self.times.append(seconds)
        for values in self.metrics.values():
            values.append(float("nan"))
        self._store_metric_values("Train", figures)

    def add_validation(self, figures: Iterable[tuple[str, float]]) -> None:
        """Add pairs (name, value) of the evaluation to the last row."""
        self._store_metric_values("Validation", figures)

    def _store_metric_values(self, part, figures):
        for name, value in figures:
            column = self.metrics.setdefault(f"{part}-{name}", [float("nan")] * len(self.epochs))
            column[-1] = value

    def plot(self, path: FileName | None = None, metrics: Sequence[str] | None = None) -> Any:
        """Plot the metrics over the epochs, training and validation together.

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
        found = {}  # metric -> its columns
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
        figure, panels = new_figure("History.plot", len(wanted))
        for name, axes in zip(wanted, panels):
            for part, values in found[name].items():
                axes.plot(self.epochs, values, marker="." if len(values) < 30 else "", label=part)
            axes.set(xlabel="epoch", ylabel=name)
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.legend()
        return save_figure(figure, path, "History.plot")

    def _csv_rows(self):
        yield ["epoch", *self.metrics, "seconds"]
        for i, epoch in enumerate(self.epochs):
            figures = [_value_text(values[i]) for values in self.metrics.values()]
            yield [str(epoch), *figures, f"{self.times[i]:.3f}"]

    def __repr__(self) -> str:
        rows = list(self._csv_rows())
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows
        )

    def _repr_html_(self):
        head, *rows = (
            "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
            for tag, row in zip(["th"] + ["td"] * len(self.epochs), self._csv_rows())
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def warn_of_nan(history, output):
    """Warn of a nan in the metrics of the last epoch, or in `output`; return whether this or an
    earlier epoch had one."""
    columns = history.metrics
    if any(is_nan(value) for values in columns.values() for value in values[:-1]):
        return True
    found = [name for name, values in columns.items() if is_nan(values[-1])]
    if not found and output is None:
        return False
    name = found[0] if found else f"the output {output}"
    warn_user(
        f"fit: {name} is nan after epoch {history.epochs[-1]}; mx.debug_nans() names the"
        " operator that makes the first one, callbacks=[mx.callback.StopOnNaN()] ends"
        " training there",
        RuntimeWarning,
    )
    return True


def _value_text(value):
    return f"{value:f}" if isinstance(value, numbers.Real) else str(value)
