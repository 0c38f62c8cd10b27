"""CheckpointHandler: writes networks, optimizer states and random states, and resumes from them."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any

from ....base.errors import ArgumentError, warn_user
from ....base.files import file_name
from ....io.training_file import (
    bytes_array,
    read_training,
    read_training_part,
    restore_random_states,
    training_bytes,
    write_training,
)
from ...block import HybridBlock
from ...errors import MismatchError
from .events import BatchEnd, EpochEnd, TrainBegin
from .monitor import check_monitor, comparison_function, worst_value

if TYPE_CHECKING:
    from ....typing import EvalMetric, FileName
    from .estimator import Estimator

_RANDOM_FORMAT = "cynet random 1"  # header of the file of random states


class CheckpointHandler(TrainBegin, BatchEnd, EpochEnd):
    """Saves checkpoints ``PREFIX-epochEbatchB.params``, ``.states`` and ``.random``, and
    ``PREFIX-symbol.json`` of a hybridized network.

    Who goes on from a checkpoint draws the random numbers that would have come (Dropout, shuffled
    batches). MXNet does not write ``.random``; a checkpoint without it will do, too. Of several
    ranks the first one writes, and reads for all.

    Parameters
    ----------
    model_dir : str
        Folder of the files, made if it does not exist.
    model_prefix : str
        Beginning of the files' names.
    monitor : EvalMetric, optional
        One of the estimator's `train_metrics` or `val_metrics`, by which `save_best` decides.
    verbose : int
        Log what is written if it is above 0.
    save_best : bool
        Also write ``PREFIX-best.params`` whenever `monitor` has improved.
    epoch_period, batch_period : int, optional
        Number of epochs, and of batches, between checkpoints; None writes none.
    max_checkpoints : int
        Number of checkpoints to keep; older ones are removed.
    resume_from_checkpoint : bool
        Continue from the last checkpoint, with the epochs or batches that remain.

    Raises
    ------
    ArgumentError
        `mode` is not one of the three, or is ``'auto'`` for a metric whose name does not say; with
        `save_best`, `monitor` is not an EvalMetric.

    Examples
    --------
    >>> from cynet.gluon.contrib.estimator import CheckpointHandler, Estimator
    >>> net = mx.gluon.nn.Dense(2)
    >>> net.initialize(mx.init.Zero())
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    >>> estimator = Estimator(net, mx.gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    >>> estimator.logger.setLevel("ERROR")
    >>> data = mx.gluon.data.ArrayDataset(mx.nd.array([[0], [1]]), mx.nd.array([0, 1]))
    >>> loader = mx.gluon.data.DataLoader(data, batch_size=1)
    >>> handler = CheckpointHandler("checkpoints", "net", max_checkpoints=2)
    >>> estimator.fit(loader, epochs=3, event_handlers=[handler])
    >>> handler.saved_checkpoints
    ['net-epoch1batch4', 'net-epoch2batch6']
    >>> import os
    >>> [name for name in sorted(os.listdir("checkpoints")) if name.endswith(".params")]
    ['net-epoch1batch4.params', 'net-epoch2batch6.params']
    """

    def __init__(
        self,
        model_dir: FileName,
        model_prefix: str = "model",
        monitor: EvalMetric | None = None,
        verbose: int = 0,
        save_best: bool = False,
        mode: str = "auto",
        epoch_period: int | None = 1,
        batch_period: int | None = None,
        max_checkpoints: int = 5,
        resume_from_checkpoint: bool = False,
    ) -> None:
        self.model_dir = file_name(model_dir, "model_dir: a folder")
        os.makedirs(self.model_dir, exist_ok=True)
        self.model_prefix = file_name(model_prefix, "model_prefix: the beginning of file names")
        self.monitor, self.save_best, self.verbose = monitor, save_best, verbose
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.max_checkpoints = max_checkpoints
        self.resume_from_checkpoint = resume_from_checkpoint
        self.saved_checkpoints: list[str] = []
        self.current_epoch = self.current_batch = 0
        self.trained_epoch = self.trained_batch = -1
        if save_best:
            check_monitor("CheckpointHandler with save_best", monitor)
            self.monitor_op = comparison_function("CheckpointHandler", monitor, mode)
            self.best = worst_value(self.monitor_op)

    def train_begin(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Start a new training, or resume from the last checkpoint."""
        self.current_epoch = self.current_batch = 0
        self.trained_epoch, self.trained_batch = -1, -1
        if self.save_best:
            self.best = worst_value(self.monitor_op)
        if self.resume_from_checkpoint:
            self._resume_training(estimator)

    def batch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Save a checkpoint after each period of batches."""
        if self.batch_period and (self.current_batch + 1) % self.batch_period == 0:
            self._save_checkpoint(estimator, self.current_batch + 1)
        self.current_batch += 1

    def epoch_end(self, estimator: Estimator, *args: Any, **kwargs: Any) -> None:
        """Save a checkpoint after each period of epochs."""
        if self.epoch_period and (self.current_epoch + 1) % self.epoch_period == 0:
            self._save_checkpoint(estimator, self.current_batch)
        self.current_epoch += 1

    def _save_checkpoint(self, estimator, batches):
        """Save a checkpoint after `batches` batches of this run."""
        before = self.trained_batch if self.trained_batch >= 0 else 0
        batch = self.current_batch + before  # the batch index in MXNet's file names
        prefix = f"{self.model_prefix}-epoch{self.current_epoch + self.trained_epoch + 1}"
        prefix += f"batch{batch}"
        ranks = estimator._ranks
        parts = {}
        estimator.trainer.gather_states()
        if ranks.size > 1:  # each rank has its own random states
            parts = dict(enumerate(ranks.gather_bytes(training_bytes({}, {}, "CheckpointHandler"))))
            if not ranks.is_first:
                return
        self._save_symbol(estimator)
        self._save_files(estimator, prefix)
        random = os.path.join(self.model_dir, f"{prefix}.random")
        arrays = {f"rank:{rank}": bytes_array(part) for rank, part in parts.items() if rank}
        write_training(random, _RANDOM_FORMAT, {"ranks": ranks.size}, arrays, "CheckpointHandler")
        self._log_message(
            estimator, f"{batches + before} batches trained, wrote {prefix} in {self.model_dir}"
        )
        self.saved_checkpoints.append(prefix)
        while len(self.saved_checkpoints) > self.max_checkpoints:
            oldest = self.saved_checkpoints.pop(0)
            for suffix in (".params", ".states", ".random"):
                os.remove(os.path.join(self.model_dir, oldest + suffix))
        if self.save_best:
            self._save_best(estimator)

    def _save_best(self, estimator):
        name, value = self.monitor.get()
        if value != value:  # NaN is never the best value
            warn_user(
                f"CheckpointHandler: {name} has no value; does anything update it?", RuntimeWarning
            )
        elif self.monitor_op(value, self.best):
            prefix = f"{self.model_prefix}-best"
            self._log_message(
                estimator,
                f"{name} from {self.best:.5f} to {value:.5f}, wrote {prefix} in {self.model_dir}",
            )
            self.best = value
            self._save_files(estimator, prefix)
        else:
            self._log_message(estimator, f"{name} is {value:.5f}, no better than {self.best:.5f}")

    def _log_message(self, estimator, text):
        if self.verbose > 0:
            epoch = self.current_epoch + self.trained_epoch + 1
            estimator.logger.info("[Epoch %d] CheckpointHandler: %s", epoch, text)

    def _save_files(self, estimator, prefix):
        path = os.path.join(self.model_dir, prefix)
        estimator.net.save_parameters(f"{path}.params")
        estimator.trainer.save_states(f"{path}.states")

    def _save_symbol(self, estimator):
        """Save the network's graph, once, if it has one."""
        path = os.path.join(self.model_dir, f"{self.model_prefix}-symbol.json")
        if self.saved_checkpoints:
            return
        net = estimator.net
        graph = net._last_graph() if isinstance(net, HybridBlock) else None
        if graph is not None:
            graph.symbol.save(path)
        else:
            estimator.logger.info(
                "CheckpointHandler: %s is not written, for the network is not hybridized", path
            )

    def _last_checkpoint(self):
        """Return (epoch, batch) of the newest checkpoint in the folder, or None."""
        form = re.compile(re.escape(self.model_prefix) + r"-epoch(\d+)batch(\d+)\.params")
        found = [form.fullmatch(name) for name in os.listdir(self.model_dir)]
        return max(((int(m[1]), int(m[2])) for m in found if m), default=None)

    def _resume_training(self, estimator):
        by_epochs = estimator.max_epoch is not None
        if (self.batch_period if by_epochs else self.epoch_period) is not None:
            kind, other = ("epoch", "batch") if by_epochs else ("batch", "epoch")
            raise MismatchError(
                f"CheckpointHandler: to go on by {kind}s, checkpoints must be written by"
                f" {kind}_period alone; {other}_period is not None"
            )
        ranks = estimator._ranks
        last = self._last_checkpoint() if ranks.is_first else None
        if ranks.size > 1:
            last = json.loads(ranks.gather_bytes(json.dumps(last).encode())[0])
        what = "epochs" if by_epochs else "batches"
        wanted = estimator.max_epoch if by_epochs else estimator.max_batch
        if last is None:
            estimator.logger.info(
                "CheckpointHandler: no checkpoint found, training begins, for %d %s", wanted, what
            )
            return
        epoch, batch = last
        done = epoch + 1 if by_epochs else batch + 1
        if done >= wanted:
            raise ArgumentError(
                f"CheckpointHandler: the last checkpoint has {done} of {wanted} {what}, so none are"
                " left; resume_from_checkpoint=False begins anew"
            )
        path = os.path.join(self.model_dir, f"{self.model_prefix}-epoch{epoch}batch{batch}")
        with ranks.first_rank_file(f"{path}.params") as file:
            estimator.net.load_parameters(file or f"{path}.params", ctx=estimator.context)
        with ranks.first_rank_file(f"{path}.states") as file:
            estimator.trainer.load_states(file or f"{path}.states")
        with ranks.first_rank_file(f"{path}.random") as file:
            if file is not None:
                self._restore_random(file, ranks)
        self.trained_epoch = epoch
        self.trained_batch = batch if by_epochs else batch + 1
        if by_epochs:
            estimator.max_epoch = wanted - done
        else:
            estimator.max_batch = wanted - done
        estimator.logger.info(
            "CheckpointHandler: goes on from epoch %d, batch %d, for %d more %s",
            epoch,
            batch,
            wanted - done,
            what,
        )

    @staticmethod
    def _restore_random(file, ranks):
        """Restore this rank's random state, or rank 0's if the number of ranks changed."""
        meta, arrays = read_training(file, _RANDOM_FORMAT)
        if not ranks.is_first:
            if meta.get("ranks", 1) != ranks.size:
                return
            meta, _ = read_training_part(arrays[f"rank:{ranks.rank}"], file)
        restore_random_states(meta)
