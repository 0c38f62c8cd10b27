"""Progress display of ``fit``: lines on stderr, or a bar in a notebook."""

from __future__ import annotations

import importlib.util
import numbers
import sys
import time
from typing import Any

from ..callback.messages import is_info_shown
from ..distributed import is_first

_EPOCH_PAUSE_SECONDS = 0.5  # minimum time between the lines of two epochs
_BATCH_PAUSE_SECONDS = 5.0  # silence after which a batch shows a line


class Progress:  # shows lines of ``fit`` on stderr
    """Shows the progress of ``fit`` as lines on stderr, if no log or callback shows it.

    Parameters
    ----------
    last : int
        Number of the last epoch, which is always shown.
    total : int or None
        Batches of an epoch, where that is known before it ends.
    batches : bool
        Also lines within a long epoch.
    """

    def __init__(self, last, total, batches=True):
        self.last, self.total, self.batches = last, total, batches
        self._epoch_due = 0.0  # the first line is shown at once

    def start_timing(self, first):
        """Store the time at which training begins with epoch `first`."""
        self.first, self._begin = first, time.monotonic()
        self._batch_due = self._begin + _BATCH_PAUSE_SECONDS

    def show_batch_end(self, epoch, nbatch, metric):
        """Show the end of a batch."""
        if self.batches and time.monotonic() >= self._batch_due:
            total = f"/{self.total}" if self.total else ""
            where = f"Epoch[{epoch}] Batch[{nbatch}{total}]"
            self._show_line(where, metric.get_name_value(), more=self._time_left(epoch, nbatch + 1))

    def show_epoch_end(self, epoch, seconds, figures, validation, batches):
        """Show the end of an epoch: pairs (name, value) of training and of the evaluation, and its
        batch count."""
        self.total = batches
        if time.monotonic() < self._epoch_due and epoch != self.last:
            return
        shown = [f" Validation-{name}={_value_text(value)}" for name, value in validation]
        self._show_line(f"Epoch[{epoch}]", figures, f"{''.join(shown)} ({seconds:.2f} s)")

    def show_text(self, line):
        """Show a line of text unchanged."""
        print(line, file=sys.stderr, flush=True)

    def close(self):
        """Do nothing at the end of training; a bar overrides this."""

    def _time_left(self, epoch, done):
        """Return the estimated remaining time as text."""
        if not self.total:
            return ""
        done += (epoch - self.first) * self.total
        left = (self.last + 1 - self.first) * self.total - done
        minutes, seconds = divmod(round((time.monotonic() - self._begin) / done * left), 60)
        hours, minutes = divmod(minutes, 60)
        return f" ({hours}:{minutes:02d}:{seconds:02d} left)"

    def _show_line(self, where, figures, more=""):
        shown = "".join(f" Train-{name}={_value_text(value)}" for name, value in figures)
        self.show_text(f"{where}{shown}{more}")
        now = time.monotonic()
        self._epoch_due, self._batch_due = now + _EPOCH_PAUSE_SECONDS, now + _BATCH_PAUSE_SECONDS


class ProgressBar(Progress):
    """A progress bar over all batches of the training; lines of epochs are shown above it."""

    _bar: Any = None

    def start_timing(self, first):
        super().start_timing(first)
        self.close()
        self._bar = _tqdm_class()(total=self._n_batches(), desc=f"Epoch[{first}]", unit="batch")

    def show_batch_end(self, epoch, nbatch, metric):
        self._bar.set_description(f"Epoch[{epoch}]", refresh=False)
        self._bar.update()

    def show_epoch_end(self, epoch, seconds, figures, validation, batches):
        """Show the end of an epoch."""
        super().show_epoch_end(epoch, seconds, figures, validation, batches)
        if self._bar.total != self._n_batches():
            self._bar.reset(self._n_batches())
            self._bar.update((epoch + 1 - self.first) * batches)

    def show_text(self, line):
        """Show a line above the bar."""
        if self._bar is None:
            super().show_text(line)
        else:
            self._bar.write(line, file=sys.stderr)

    def close(self):
        """Stop the bar, and leave it on the screen."""
        if self._bar is not None:
            self._bar.close()

    def _n_batches(self):
        return self.total and (self.last + 1 - self.first) * self.total


def log_line(logger, progress, line):
    """Log a line, and show it if there is a Progress."""
    logger.info("%s", line)
    if progress is not None:
        progress.show_text(line)


def choose_progress(verbose, logger, batch_end_callback, num_epoch, data):
    """Choose the Progress of a ``fit``, or None.

    Parameters
    ----------
    verbose : bool or None
        None: only where nobody would see anything, because INFO is not logged; batches are shown
        only where no callback looks at them.
    logger, batch_end_callback, num_epoch
        As ``fit`` has them.
    data : DataIter
        What is trained on.
    """
    if not is_first():
        return None
    if verbose or (verbose is None and not is_info_shown(logger)):
        batches = bool(verbose) or batch_end_callback is None
        kind = ProgressBar if batches and is_in_notebook() else Progress
        return kind(num_epoch - 1, _batches_per_epoch(data), batches)
    return None


def is_in_notebook():
    """Return whether the program runs in a Jupyter kernel."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _tqdm_class():
    """Return tqdm's widget class, or its text bar if ipywidgets is not installed."""
    from tqdm import tqdm  # imported late: it takes more than half as long as cynet

    if importlib.util.find_spec("ipywidgets") is None:
        return tqdm
    from tqdm.notebook import tqdm as widget

    return widget


def _batches_per_epoch(data):
    """Return the number of batches of an epoch, or None if the iterator does not report it."""
    rows, size = getattr(data, "num_data", None), getattr(data, "batch_size", None)
    whole = isinstance(rows, int) and isinstance(size, int) and rows >= size > 0
    return -(-rows // size) if whole else None


def _value_text(value):
    return f"{value:f}" if isinstance(value, numbers.Real) else str(value)
