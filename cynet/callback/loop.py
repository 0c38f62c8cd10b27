"""Callbacks of training loops: speed and metric lines, a progress bar, checkpoints."""

from __future__ import annotations

import functools
import numbers
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.errors import ArgumentError, ArgumentTypeError, shown
from ..base.files import file_name
from ..base.guard import guarded
from ..base.reprs import SettingsRepr
from ..distributed import is_first, is_joined, world
from ..io.checkpoint import check_prefix, save_checkpoint
from .messages import log_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import FileName, Module, NamedArrays, Symbol

__all__ = ["BatchEndParam", "LogValidationMetricsCallback", "ProgressBar", "Speedometer"]
__all__ += ["do_checkpoint", "log_train_metric", "module_checkpoint"]


class BatchEndParam(NamedTuple):
    """The argument of a batch-end callback.

    Parameters
    ----------
    epoch : int
        Number of the epoch that runs.
    nbatch : int
        Number of the batch that is done, from 0 in each epoch.
    eval_metric : EvalMetric or None
        What has been counted so far.
    locals : dict or None
        The variables of the loop: ``locals["self"]`` is the module that ``fit`` trains.

    Examples
    --------
    >>> data = mx.io.NDArrayIter(mx.nd.ones((4, 3)), mx.nd.zeros(4), batch_size=2)
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> def tell(param):
    ...     print(param.epoch, param.nbatch, param.eval_metric.name)
    >>> history = module.fit(data, num_epoch=2, batch_end_callback=tell)
    0 0 accuracy
    0 1 accuracy
    1 0 accuracy
    1 1 accuracy
    """

    epoch: int
    nbatch: int
    eval_metric: Any  # an EvalMetric, or None
    locals: dict[str, Any] | None  # local variables of the training loop


@guarded
def module_checkpoint(
    mod: Module, prefix: FileName, period: int = 1, save_optimizer_states: bool = False
) -> Callable[..., None]:
    """Return an epoch-end callback by which rank 0 saves `mod` every `period` epochs.

    ``fit`` looks for the folder before it begins.

    Parameters
    ----------
    mod : BaseModule
        The module to save, by its ``save_checkpoint``.
    prefix : str
        Beginning of the files' names: ``prefix-symbol.json``, ``prefix-0001.params``, ...
    period : int
        Number of epochs between checkpoints; less than 1 means 1.
    save_optimizer_states : bool
        Also write ``prefix-0001.states``; ``mx.model.find_checkpoint(prefix)`` gives the newest
        whole pair of the two files.

    Returns
    -------
    callable
        ``callback(epoch, symbol, arg_params, aux_params)``, for `epoch_end_callback` of ``fit``.

    Examples
    --------
    >>> import os
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros(8), batch_size=4)
    >>> save = mx.callback.module_checkpoint(module, "net", save_optimizer_states=True)
    >>> history = module.fit(data, num_epoch=2, epoch_end_callback=save, verbose=False)
    >>> sorted(name for name in os.listdir(".") if name.endswith("2.params"))
    ['net-0002.params']
    >>> sorted(name for name in os.listdir(".") if name.endswith("2.states"))
    ['net-0002.states']
    """
    period = max(1, int(period))

    def callback(epoch, sym=None, arg_params=None, aux_params=None):
        if (epoch + 1) % period == 0 and is_first():
            mod.save_checkpoint(prefix, epoch + 1, save_optimizer_states)

    callback.check_before_training = functools.partial(check_prefix, prefix)
    return callback


@guarded
def do_checkpoint(
    prefix: FileName, period: int = 1
) -> Callable[[int, Symbol, NamedArrays, NamedArrays], None]:
    """Return an epoch-end callback by which rank 0 saves symbol and parameters every `period`
    epochs.

    ``fit`` looks for the folder before it begins.

    Parameters
    ----------
    prefix : str
        Beginning of the files' names: ``prefix-symbol.json``, ``prefix-0001.params``, ...
    period : int
        Number of epochs between checkpoints; less than 1 means 1.

    Returns
    -------
    callable
        ``callback(epoch, symbol, arg_params, aux_params)``, for `epoch_end_callback` of ``fit``.

    Examples
    --------
    >>> import os
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros(8), batch_size=4)
    >>> save = mx.callback.do_checkpoint("net", period=2)
    >>> history = module.fit(data, num_epoch=4, epoch_end_callback=save, verbose=False)
    >>> sorted(os.listdir("."))
    ['net-0002.params', 'net-0004.params', 'net-symbol.json']
    """
    prefix = file_name(prefix, "do_checkpoint: the beginning of file names")
    period = max(1, int(period))

    def callback(epoch, symbol, arg_params, aux_params):
        if (epoch + 1) % period == 0 and is_first():
            save_checkpoint(prefix, epoch + 1, symbol, arg_params, aux_params)

    callback.check_before_training = functools.partial(check_prefix, prefix)
    return callback


@guarded
def log_train_metric(period: int, auto_reset: bool = False) -> Callable[[BatchEndParam], None]:
    """Return a batch-end callback that logs the metric every `period` batches.

    Parameters
    ----------
    period : int
        Number of batches between lines.
    auto_reset : bool
        Restart the metric's local mean after each line.

    Returns
    -------
    callable
        ``callback(param)``, for `batch_end_callback` of ``fit``.

    Examples
    --------
    >>> metric = mx.metric.create("acc")
    >>> metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.9, 0.1], [0.8, 0.2]])])
    >>> log = mx.callback.log_train_metric(period=50, auto_reset=True)
    >>> log(mx.model.BatchEndParam(epoch=0, nbatch=50, eval_metric=metric, locals=None))

    The line is ``Iter[0] Batch[50] Train-accuracy=0.500000``; the local mean begins anew:

    >>> metric.get(), metric.get_global()
    (('accuracy', nan), ('accuracy', 0.5))
    """

    def callback(param):
        if param.nbatch % period == 0 and param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                log_message(
                    "Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value
                )
            if auto_reset:
                param.eval_metric.reset_local()

    return callback


@guarded
class Speedometer(SettingsRepr):
    """A batch-end callback that logs speed and metric.

    Parameters
    ----------
    batch_size : int
        Number of examples in a batch; if several ranks train together, in that of one rank: the
        line is that of rank 0 and shows the speed of all.
    frequent : int
        Number of batches between lines.
    auto_reset : bool
        Show the metric since the last line; if False, since the epoch began.

    Raises
    ------
    ArgumentError
        `frequent` is less than 1.
    ArgumentTypeError
        `batch_size` or `frequent` is not a number.

    Examples
    --------
    A line reads ``Epoch[0] Batch [0-50]   Speed: 20000.00 samples/sec   accuracy=0.910000``.

    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros(8), batch_size=4)
    >>> speed = mx.callback.Speedometer(batch_size=4, frequent=1)
    >>> history = module.fit(data, num_epoch=1, batch_end_callback=speed)
    """

    def __init__(self, batch_size: int, frequent: int = 50, auto_reset: bool = True) -> None:
        for name, number in (("batch_size", batch_size), ("frequent", frequent)):
            if not isinstance(number, numbers.Real):
                raise ArgumentTypeError(
                    f"Speedometer: {name} must be a number, got {shown(number)}"
                )
        if frequent < 1:
            raise ArgumentError(f"Speedometer: frequent must be at least 1, got {frequent}")
        self.batch_size = batch_size
        self.frequent = frequent
        self.auto_reset = auto_reset
        self.init = False
        self.tic = 0
        self.last_count = 0

    def __call__(self, param: BatchEndParam) -> None:
        count = param.nbatch
        if self.last_count > count:  # a new epoch
            self.init = False
        self.last_count = count
        if not self.init:
            self.init = True
            self.tic = time.time()
        elif count % self.frequent == 0:
            passed = time.time() - self.tic
            examples = self.frequent * self.batch_size * (world().size if is_joined() else 1)
            speed = examples / passed if passed > 0 else float("inf")
            self._log_speed(param, count, speed)
            self.tic = time.time()

    def _log_speed(self, param, count, speed):
        metric = param.eval_metric
        if metric is None:
            log_message("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, count, speed)
            return
        if self.auto_reset:
            figures, first = metric.get_name_value(), count - self.frequent
            metric.reset_local()
        else:
            figures, first = metric.get_global_name_value(), 0
        shown = "".join(f"\t{name}={value:f}" for name, value in figures)
        log_message(
            "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec%s",
            param.epoch,
            first,
            count,
            speed,
            shown,
        )


@guarded
class ProgressBar(SettingsRepr):
    """A batch-end callback that draws a progress bar on stderr, a new one each epoch.

    Parameters
    ----------
    total : int
        Number of batches in an epoch.
    length : int
        Width of the bar, in characters.

    Examples
    --------
    >>> bar = mx.callback.ProgressBar(total=100)
    >>> bar(mx.model.BatchEndParam(epoch=0, nbatch=49, eval_metric=None, locals=None))

    It is half full now, and is left so:

    >>> bar.close()
    """

    def __init__(self, total: int, length: int = 80) -> None:
        self.total = total
        self.bar_len = length
        self._bar = None
        self._epoch = None

    def __call__(self, param: BatchEndParam) -> None:
        if not is_first():
            return
        if self._bar is not None and param.epoch != self._epoch:
            self.close()
        if self._bar is None:
            from tqdm import tqdm  # imported late: tqdm loads slowly

            self._epoch = param.epoch
            self._bar = tqdm(total=self.total, ncols=self.bar_len, desc=f"Epoch[{param.epoch}]")
        # Module.fit counts batches from 0 and calls this after each batch
        self._bar.update(min(param.nbatch + 1, self.total) - self._bar.n)
        if self._bar.n >= self.total:
            self.close()

    def close(self) -> None:
        """Finish the progress bar; the next call starts a new bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


@guarded
class LogValidationMetricsCallback(SettingsRepr):
    """An evaluation-end callback that logs the metric as ``Epoch[0] Validation-accuracy=...``.

    Examples
    --------
    >>> metric = mx.metric.create("acc")
    >>> metric.update([mx.nd.array([0, 1])], [mx.nd.array([[0.9, 0.1], [0.8, 0.2]])])
    >>> log = mx.callback.LogValidationMetricsCallback()
    >>> log(mx.model.BatchEndParam(epoch=3, nbatch=0, eval_metric=metric, locals=None))

    The line is ``Epoch[3] Validation-accuracy=0.500000``.
    """

    def __call__(self, param: BatchEndParam) -> None:
        if param.eval_metric is not None:
            for name, value in param.eval_metric.get_name_value():
                log_message("Epoch[%d] Validation-%s=%f", param.epoch, name, value)
