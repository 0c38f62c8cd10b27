"""Metrics of ``fit`` for hyperparameter searches by Optuna and Ray Tune."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.compat import optional
from ..base.errors import ArgumentTypeError, shown
from ..base.guard import guarded
from .fit import FitCallback, StopTraining
from .tracking import MetricWriter

if TYPE_CHECKING:
    from .fit import FitState

__all__ = ["Optuna", "Ray"]


@guarded
class Optuna(FitCallback):
    """Reports a metric of each epoch to an Optuna trial, and ends training if the trial is pruned.

    ``fit`` then raises ``optuna.TrialPruned`` once all callbacks have ended, which the study
    expects of its objective. Needs the package optuna: ``pip install 'cynet-mx[optuna]'``.

    Parameters
    ----------
    trial : optuna.Trial
        What the objective is given.
    figure : str
        Name of the figure as `FitState.figure` takes it: ``'accuracy'`` is that of the validation
        if there is one.

    Raises
    ------
    ArgumentError
        At the beginning of ``fit``, if it will have no such figure.
    ArgumentTypeError
        `trial` has no ``report`` and ``should_prune``.

    Examples
    --------
    ``optuna.create_study(direction="maximize").optimize(objective, n_trials=20)``, where
    ``objective(trial)`` trains with ``callbacks=[mx.callback.Optuna(trial, "accuracy")]`` and
    returns the last accuracy.

    >>> class Trial:  # the methods of Optuna's Trial
    ...     def report(self, value, step):
    ...         print(f"epoch {step}: {value}")
    ...     def should_prune(self):
    ...         return False
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros((8,)), batch_size=4)
    >>> told = mx.callback.Optuna(Trial(), "accuracy")
    >>> history = module.fit(
    ...     data, num_epoch=2, callbacks=[told], initializer=mx.init.Zero(), verbose=False
    ... )
    epoch 0: 1.0
    epoch 1: 1.0
    """

    def __init__(self, trial: Any, figure: str = "accuracy") -> None:
        if not (hasattr(trial, "report") and hasattr(trial, "should_prune")):
            raise ArgumentTypeError(f"Optuna takes a trial of a study, got {shown(trial)}")
        self.trial, self._figure, self._pruned = trial, figure, ""

    def begin(self, state: FitState) -> None:
        """Check that training will have the metric that the trial needs."""
        state.check_figure(self._figure)
        self._pruned = ""

    def epoch_end(self, state: FitState) -> None:
        """Report the epoch's metric; end training if the trial should be pruned."""
        value = state.figure(self._figure)
        self.trial.report(value, state.epoch)
        if self.trial.should_prune():
            self._pruned = f"pruned at epoch {state.epoch} with {self._figure} {value:g}"
            raise StopTraining(self._pruned)

    def end(self, state: FitState) -> None:
        """Raise the study's exception if the trial was pruned."""
        if self._pruned:
            raise optional("optuna", "callback.Optuna").TrialPruned(self._pruned)


@guarded
class Ray(MetricWriter):
    """Reports each epoch's metrics to Ray Tune, whose scheduler may end the trial.

    Needs the package ray: ``pip install 'cynet-mx[ray]'``. Names are those of the history:
    ``tune.TuneConfig(metric="Validation-accuracy", mode="max")``.

    Parameters
    ----------
    report : callable, optional
        What is called with the dict of figures; ``ray.tune.report`` by default.

    Raises
    ------
    ArgumentTypeError
        `report` cannot be called.

    Examples
    --------
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    >>> data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros((8,)), batch_size=4)
    >>> told = mx.callback.Ray(report=lambda figures: print(sorted(figures)))
    >>> history = module.fit(data, num_epoch=1, callbacks=[told], verbose=False)
    ['Train-accuracy', 'epoch', 'learning_rate', 'seconds']
    """

    def __init__(self, report: Any = None) -> None:
        super().__init__(None)
        if report is None:
            report = optional("ray.tune", "callback.Ray").report
        if not callable(report):
            raise ArgumentTypeError(f"Ray: report is a function of a dict, got {shown(report)}")
        self._report = report

    def _write(self, figures, step):  # metrics of a batch or an epoch
        self._report({**figures, "epoch": step})
