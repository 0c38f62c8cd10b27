"""Optuna and Ray Tune: what they are told of a training, and how a pruned trial ends."""

import sys
from types import ModuleType

import numpy as np
import pytest

import cynet as mx


def trained(epochs=4, rate=0.1, callbacks=(), **options):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    x = np.random.RandomState(0).randn(64, 4)
    data, check = (mx.io.NDArrayIter(x, x[:, 0] > 0, 16) for _ in range(2))
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    return module.fit(
        data,
        check,
        num_epoch=epochs,
        optimizer_params={"learning_rate": rate},
        callbacks=list(callbacks),
        verbose=False,
        **options,
    )


class Trial:
    """A stand-in for Optuna's: it prunes after a number of reports."""

    def __init__(self, last=99):
        self.told, self.last = [], last

    def report(self, value, step):
        self.told.append((step, value))

    def should_prune(self):
        return len(self.told) > self.last


class Ended(mx.callback.FitCallback):
    def __init__(self):
        self.epochs, self.ended = [], 0

    def epoch_end(self, state):
        self.epochs.append(state.epoch)

    def end(self, state):
        self.ended += 1


def test_optuna_is_told_the_figure_of_each_epoch():
    trial = Trial()
    history = trained(callbacks=[mx.callback.Optuna(trial, "Train-accuracy")])
    assert trial.told == list(enumerate(history.metrics["Train-accuracy"]))
    trial = Trial()
    history = trained(callbacks=[mx.callback.Optuna(trial, "acc")])  # validation's, where it is
    assert trial.told == list(enumerate(history.metrics["Validation-accuracy"]))


def test_a_pruned_trial_ends_behind_the_other_callbacks(monkeypatch, tmp_path):
    class TrialPruned(Exception):
        pass

    fake = ModuleType("optuna")
    fake.TrialPruned = TrialPruned
    monkeypatch.setitem(sys.modules, "optuna", fake)
    before, behind = Ended(), Ended()
    pruning = mx.callback.Optuna(Trial(last=1), "accuracy")
    with pytest.raises(TrialPruned, match="pruned at epoch 1 with accuracy"):
        trained(callbacks=[before, pruning, behind], resume=tmp_path / "run")
    for each in (before, behind):
        assert each.epochs == [0, 1] and each.ended == 1
    assert (tmp_path / "run.training").exists()
    trained(2, callbacks=[mx.callback.Optuna(Trial(), "accuracy")])  # a new one is not pruned


def test_optuna_prunes_by_a_study():
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.ThresholdPruner(lower=0.7, n_warmup_steps=1)
    study = optuna.create_study(direction="maximize", pruner=pruner)

    def objective(trial):
        rate = trial.suggest_categorical("rate", [-1.0, 1.0])
        told = mx.callback.Optuna(trial, "accuracy")
        return trained(rate=rate, callbacks=[told]).metrics["Validation-accuracy"][-1]

    for rate in (-1.0, 1.0):
        study.enqueue_trial({"rate": rate})
    study.optimize(objective, n_trials=2)
    states = [each.state.name for each in study.trials]
    assert states == ["PRUNED", "COMPLETE"] and study.best_params == {"rate": 1.0}
    assert [len(each.intermediate_values) for each in study.trials] == [2, 4]


def test_ray_is_told_all_figures(monkeypatch):
    told = []
    history = trained(2, callbacks=[mx.callback.Ray(told.append)])
    names = list(history.metrics)
    for epoch, figures in enumerate(told):
        assert {name: figures[name] for name in names} == {
            name: history.metrics[name][epoch] for name in names
        }
        assert figures["epoch"] == epoch and figures["seconds"] == history.times[epoch]
    assert len(told) == 2
    fake, tune = ModuleType("ray"), ModuleType("ray.tune")
    fake.tune, tune.report = tune, told.append
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setitem(sys.modules, "ray.tune", tune)
    trained(1, callbacks=[mx.callback.Ray()])
    assert len(told) == 3


def test_what_is_refused(monkeypatch):
    with pytest.raises(TypeError, match="Optuna takes a trial of a study, got 3"):
        mx.callback.Optuna(3)
    with pytest.raises(TypeError, match="report is a function of a dict, got 'x'"):
        mx.callback.Ray("x")
    with pytest.raises(ValueError, match="fit has no metric 'loss'; there are Train-accuracy"):
        trained(callbacks=[mx.callback.Optuna(Trial(), "loss")])
    for name in ("optuna", "ray", "ray.tune"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(RuntimeError, match=r"callback.Ray needs the package ray\[tune\]: pip"):
        mx.callback.Ray()
    with pytest.raises(RuntimeError, match=r"needs the package optuna: pip install 'cynet-mx\[opt"):
        trained(callbacks=[mx.callback.Optuna(Trial(0), "accuracy")])
