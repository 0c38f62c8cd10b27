"""Weights & Biases and MLflow: what their packages have of a training, and what they are told."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import cynet as mx


def trained(epochs=2, **options):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    x = np.random.RandomState(0).randn(32, 4)
    data, check = (mx.io.NDArrayIter(x, x[:, 0] > 0, 8) for _ in range(2))
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    return module.fit(data, check, num_epoch=epochs, verbose=False, **options)


def rows_of(history):
    names = list(history.metrics)
    return [{name: history.metrics[name][i] for name in names} for i in range(len(history))]


class Told:
    """A stand-in for both packages: what was called, in order."""

    def __init__(self):
        self.calls, self.logged, self.active, self.id = [], [], None, None

    def init(self, **settings):
        self.calls.append(("init", settings))
        self.id = settings.get("id", "first")
        return self

    def log(self, figures):
        self.logged.append(figures)

    def finish(self):
        self.calls.append("finish")

    def active_run(self):
        return self.active

    def start_run(self, **settings):
        self.calls.append(("start_run", settings))
        self.active = SimpleNamespace(info=SimpleNamespace(run_id=settings.get("run_id", "first")))

    def end_run(self):
        self.calls.append("end_run")
        self.active = None

    def log_params(self, params):
        self.calls.append(("log_params", params))

    def log_metrics(self, figures, step):
        self.logged.append((step, figures))


def test_weights_and_biases_is_told_and_resumes(monkeypatch, tmp_path):
    told = Told()
    monkeypatch.setitem(sys.modules, "wandb", told)
    trained(2, resume=tmp_path / "run", callbacks=[mx.callback.WeightsAndBiases(project="p")])
    history = trained(
        3,
        resume=tmp_path / "run",
        callbacks=[mx.callback.WeightsAndBiases(project="p", frequent=3)],
    )
    again = {"project": "p", "id": "first", "resume": "allow"}
    assert told.calls == [("init", {"project": "p"}), "finish", ("init", again), "finish"]
    epochs = [row for row in told.logged if "epoch" in row]
    for i, (found, wanted) in enumerate(zip(epochs, rows_of(history))):
        more = {"epoch": i, "seconds": history.times[i], "learning_rate": 0.01}
        assert found == {**wanted, **more}
    # batches 9 to 12 of the third epoch
    assert [list(row) for row in told.logged if "epoch" not in row] == [["Batch-accuracy"]] * 2


def test_a_run_that_was_begun_elsewhere_is_not_ended(monkeypatch):
    told = Told()
    trained(1, callbacks=[mx.callback.WeightsAndBiases(run=told)])
    assert told.calls == [] and len(told.logged) == 1
    monkeypatch.setitem(sys.modules, "mlflow", told)
    told.start_run(run_name="mine")
    trained(1, callbacks=[mx.callback.MLflow()])
    assert told.calls == [("start_run", {"run_name": "mine"})] and told.active is not None


def test_mlflow_is_told_and_resumes(monkeypatch, tmp_path):
    told = Told()
    monkeypatch.setitem(sys.modules, "mlflow", told)
    kind = mx.callback.MLflow
    first = kind(params={"lr": 0.01}, run_name="r")
    trained(2, resume=tmp_path / "run", callbacks=[first])
    history = trained(3, resume=tmp_path / "run", callbacks=[kind(params={"lr": 0.01})])
    assert told.calls == [
        ("start_run", {"run_name": "r"}),
        ("log_params", {"lr": 0.01}),
        "end_run",
        ("start_run", {"run_id": "first"}),
        "end_run",
    ]
    for i, ((step, found), wanted) in enumerate(zip(told.logged, rows_of(history))):
        assert step == i and {name: found[name] for name in wanted} == wanted


def test_mlflow_takes_no_name_with_a_bracket(monkeypatch):
    told = Told()
    monkeypatch.setitem(sys.modules, "mlflow", told)
    metric = mx.metric.create("acc", name="acc[0]")
    trained(1, eval_metric=metric, callbacks=[mx.callback.MLflow()])
    assert {"Train-acc_0_", "Validation-acc_0_"} <= told.logged[0][1].keys()


@pytest.mark.filterwarnings("ignore")
def test_mlflow_itself(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())  # a database needs the whole of mlflow
    history = trained(3, callbacks=[mx.callback.MLflow(params={"batch": 8}, run_name="r")])
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("Default").experiment_id
    (run,) = client.search_runs([experiment])
    assert run.data.params == {"batch": "8"} and run.info.status == "FINISHED"
    for name, values in history.metrics.items():
        found = client.get_metric_history(run.info.run_id, name)
        assert [(each.step, each.value) for each in found] == list(enumerate(values))


def test_wandb_itself(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_SILENT", "true")
    run = wandb.init(mode="offline", dir=str(tmp_path), project="p")
    history = trained(2, callbacks=[mx.callback.WeightsAndBiases(run=run)])
    found = dict(run.summary)
    run.finish()
    for name, value in rows_of(history)[-1].items():
        assert found[name] == pytest.approx(value)
    assert found["epoch"] == 1


@pytest.mark.parametrize("kind", ["WeightsAndBiases", "MLflow"])
def test_without_the_package(monkeypatch, kind):
    for name in ("wandb", "mlflow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(mx.MXNetError, match=f"callback.{kind} needs the package .*track"):
        getattr(mx.callback, kind)()
