"""Metrics of training for TensorBoard, written by the package tensorboardX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.compat import optional
from ..base.files import file_name, naming
from ..base.guard import guarded
from .tracking import MetricWriter

if TYPE_CHECKING:
    from ..typing import FileName
    from .fit import FitState
    from .loop import BatchEndParam

__all__ = ["TensorBoard"]


def _open_writer(folder, who):
    folder = file_name(folder, f"{who}: the folder")
    with naming("write", folder):
        return optional("tensorboardX", who).SummaryWriter(folder)


@guarded
class TensorBoard(MetricWriter):
    """Writes each epoch's metrics, seconds and learning rate to a folder for TensorBoard.

    Needs the package tensorboardX: ``pip install 'cynet-mx[viz]'``.

    Parameters
    ----------
    folder : str
        Folder of the files; ``tensorboard --logdir FOLDER`` shows them.
    frequent : int, optional
        Number of batches between logs of the training metric; by default it is logged after epochs
        only.

    Raises
    ------
    CynetError
        The package tensorboardX is not installed.

    Examples
    --------
    >>> import importlib.util
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros((8,)), batch_size=4)
    >>> if importlib.util.find_spec("tensorboardX"):
    ...     board = mx.callback.TensorBoard("runs/first")
    ...     history = module.fit(data, num_epoch=1, callbacks=[board], verbose=False)

    ``tensorboard --logdir runs`` shows it.
    """

    def __init__(self, folder: FileName, frequent: int | None = None) -> None:
        super().__init__(frequent)
        self._summary_writer = _open_writer(folder, "callback.TensorBoard")

    def _write(self, figures, step):  # metrics of a batch or an epoch
        for name, value in figures.items():
            self._summary_writer.add_scalar(name, value, step)
        self._summary_writer.flush()

    def end(self, state: FitState) -> None:
        """Flush the event files."""
        self._summary_writer.close()  # a later training opens a new event file


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
        self.summary_writer = _open_writer(logging_dir, "contrib.tensorboard.LogMetricsCallback")
        self.step = 0

    def __call__(self, param: BatchEndParam) -> None:
        """Write the metric's values."""
        self.step += 1
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            name = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(name, value, self.step)
        self.summary_writer.flush()
