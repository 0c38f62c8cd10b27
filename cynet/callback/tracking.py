"""Metrics of ``fit`` for Weights & Biases and MLflow, by their packages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..base.compat import optional
from ..base.errors import UndefinedError
from ..base.guard import guarded
from ..base.kinds import to_index
from ..distributed import is_first
from .fit import FitCallback

if TYPE_CHECKING:
    from .fit import FitState

__all__ = ["MLflow", "WeightsAndBiases"]


class MetricWriter(FitCallback):
    """Base of callbacks that write metrics of batches and epochs; a subclass defines `_write`."""

    def __init__(self, frequent):
        if frequent is not None:
            to_index(f"{type(self).__name__}: frequent", frequent, "an int, or None")
        self.frequent, self.batches = frequent, 0

    def batch_end(self, state: FitState) -> None:
        """Log the training metric after every `frequent` batches."""
        self.batches += 1
        if self.frequent and self.batches % self.frequent == 0:
            figures = state.eval_metric.get_name_value()
            self._write({f"Batch-{name}": value for name, value in figures}, self.batches)

    def epoch_end(self, state: FitState) -> None:
        """Write the epoch's metrics."""
        found = {name: values[-1] for name, values in state.history.metrics.items()}
        found["seconds"] = state.history.times[-1]
        found["learning_rate"] = state.optimizer.learning_rate
        self._write(found, state.epoch)

    def _write(self, figures, step):
        """Write {name: value} of a batch or an epoch."""
        raise UndefinedError(f"{type(self).__name__} defines no _write")

    def state_dict(self) -> dict[str, Any]:
        """Return the count of batches so far."""
        return {"batches": self.batches}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the count of batches."""
        self.batches = int(state["batches"])


@guarded
class WeightsAndBiases(MetricWriter):
    """Logs each epoch's metrics, seconds and learning rate to a run of Weights & Biases.

    Needs the package wandb: ``pip install 'cynet-mx[track]'``. Of several ranks the first one
    logs. ``fit(resume=...)`` goes on with the same run.

    Parameters
    ----------
    run : wandb.Run, optional
        A run that is begun and ended elsewhere; by default ``fit`` begins and ends one.
    frequent : int, optional
        Number of batches between logs of the training metric; by default it is logged after epochs
        only.
    **settings
        Arguments of ``wandb.init``: ``project="digits"``, ``config={"lr": 0.1}``,
        ``mode="offline"``, ...

    Examples
    --------
    ``module.fit(data, callbacks=[mx.callback.WeightsAndBiases(project="digits")], ...)``

    >>> class Run:  # a stand-in for the run that wandb.init(...) returns
    ...     def log(self, figures):
    ...         print(sorted(figures))
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2)
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros((8,)), batch_size=4)
    >>> tracked = mx.callback.WeightsAndBiases(run=Run())
    >>> history = module.fit(data, num_epoch=1, callbacks=[tracked], verbose=False)
    ['Train-accuracy', 'epoch', 'learning_rate', 'seconds']
    """

    def __init__(self, run: Any = None, frequent: int | None = None, **settings: Any) -> None:
        super().__init__(frequent)
        if run is None:
            self._wandb = optional("wandb", "callback.WeightsAndBiases")
        self._given, self._settings = run, settings
        self._run, self._id = run, None

    def begin(self, state: FitState) -> None:
        """Start the run, or resume it."""
        if self._given is None and is_first():
            settings = dict(self._settings)
            if self._id is not None:
                settings.update(id=self._id, resume="allow")
            self._run = self._wandb.init(**settings)
            self._id = self._run.id

    def _write(self, figures, step):  # metrics of a batch or an epoch
        if self._run is not None and is_first():
            words = {} if any(name.startswith("Batch-") for name in figures) else {"epoch": step}
            self._run.log({**figures, **words})

    def end(self, state: FitState) -> None:
        """End the run if this callback started it."""
        if self._given is None and self._run is not None:
            self._run.finish()
            self._run = None

    def state_dict(self) -> dict[str, Any]:
        """Return the count of batches so far, and the run's id."""
        return {**super().state_dict(), "id": self._id}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take `state_dict` back."""
        super().load_state_dict(state)
        self._id = state["id"]


@guarded
class MLflow(MetricWriter):
    """Logs each epoch's metrics, seconds and learning rate to a run of MLflow.

    Needs the package mlflow, or mlflow-skinny: ``pip install 'cynet-mx[track]'``. Of several ranks
    the first one logs. ``fit(resume=...)`` goes on with the same run.

    Parameters
    ----------
    params : dict, optional
        Settings of the training to log: ``{"learning_rate": 0.1}``.
    frequent : int, optional
        Number of batches between logs of the training metric; by default it is logged after epochs
        only.
    **settings
        Arguments of ``mlflow.start_run``: ``run_name="digits"``, ``experiment_id=...``,
        ``tags=...``. If a run is active when ``fit`` begins, results go there, and it stays active.

    Raises
    ------
    CynetError
        The package mlflow is not installed.

    Examples
    --------
    >>> import importlib.util
    >>> if importlib.util.find_spec("mlflow"):  # mlflow.set_experiment names the page
    ...     tracked = mx.callback.MLflow(params={"batch": 32}, run_name="digits")

    ``module.fit(data, callbacks=[tracked], ...)`` then logs each epoch.
    """

    def __init__(
        self, params: dict[str, Any] | None = None, frequent: int | None = None, **settings: Any
    ) -> None:
        super().__init__(frequent)
        self._mlflow = optional("mlflow", "callback.MLflow")
        self._params, self._settings = dict(params or {}), settings
        self._id, self._own = None, False

    def begin(self, state: FitState) -> None:
        """Start the run, or resume it."""
        if not is_first():
            return
        self._own = self._mlflow.active_run() is None
        if self._own:
            settings = self._settings if self._id is None else {"run_id": self._id}
            self._mlflow.start_run(**settings)
        begun, self._id = self._id, self._mlflow.active_run().info.run_id
        if self._params and begun != self._id:
            self._mlflow.log_params(self._params)

    def _write(self, figures, step):  # metrics of a batch or an epoch
        if is_first():
            named = {re.sub(r"[^\w\-./ ]", "_", name): value for name, value in figures.items()}
            self._mlflow.log_metrics(named, step=step)

    def end(self, state: FitState) -> None:
        """End the run if this callback started it."""
        if self._own:
            self._mlflow.end_run()
            self._own = False

    def state_dict(self) -> dict[str, Any]:
        """Return the count of batches so far, and the run's id."""
        return {**super().state_dict(), "id": self._id}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take `state_dict` back."""
        super().load_state_dict(state)
        self._id = state["id"]
