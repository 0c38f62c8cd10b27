"""Figures of training for TensorBoard, written by the package tensorboardX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.compat import optional
from ..base.files import file_name, naming
from ..base.guard import guarded
from .fit import FitCallback

if TYPE_CHECKING:
    from ..typing import FileName
    from .fit import FitState
    from .loop import BatchEndParam


def _writer(folder, who):
    folder = file_name(folder, f"{who}: the folder")
    with naming("write", folder):
        return optional("tensorboardX", who).SummaryWriter(folder)


@guarded
class TensorBoard(FitCallback):
    """Writes each epoch's figures, seconds and learning rate to a folder for TensorBoard.

    Needs the package tensorboardX: ``pip install 'cynet-mx[viz]'``.

    Parameters
    ----------
    folder : str
    frequent : int, optional
        Also the training metric after every so many batches.
    """

    def __init__(self, folder: FileName, frequent: int | None = None) -> None:
        self._writer = _writer(folder, "callback.TensorBoard")
        self.frequent = frequent
        self.batches = 0

    def batch_end(self, state: FitState) -> None:
        """Write the training metric, if it is time to."""
        self.batches += 1
        if self.frequent and self.batches % self.frequent == 0:
            for name, value in state.eval_metric.get_name_value():
                self._writer.add_scalar(f"Batch-{name}", value, self.batches)

    def epoch_end(self, state: FitState) -> None:
        """Write the epoch's figures."""
        for name, values in state.history.metrics.items():
            self._writer.add_scalar(name, values[-1], state.epoch)
        self._writer.add_scalar("seconds", state.history.times[-1], state.epoch)
        self._writer.add_scalar("learning_rate", state.optimizer.learning_rate, state.epoch)
        self._writer.flush()

    def end(self, state: FitState) -> None:
        """Bring everything to the files."""
        self._writer.close()  # it begins another file if more comes

    def state_dict(self) -> dict[str, Any]:
        """How many batches there were."""
        return {"batches": self.batches}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take the count back."""
        self.batches = int(state["batches"])


@guarded
class LogMetricsCallback:
    """MXNet's ``mx.contrib.tensorboard.LogMetricsCallback``, a batch or evaluation end callback.

    Parameters
    ----------
    logging_dir : str
    prefix : str, optional
        Before each metric's name.
    """

    def __init__(self, logging_dir: FileName, prefix: str | None = None) -> None:
        self.prefix = prefix
        self.summary_writer = _writer(logging_dir, "contrib.tensorboard.LogMetricsCallback")
        self.step = 0

    def __call__(self, param: BatchEndParam) -> None:
        """Write the metric's figures."""
        self.step += 1
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            name = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(name, value, self.step)
        self.summary_writer.flush()
