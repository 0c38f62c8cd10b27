"""Callbacks: Speedometer's lines as MXNet 1.9.1 logs them, progress bar, checkpoints."""

import json
import logging
from pathlib import Path

import pytest

import cynet as mx
from cynet.base.errors import ArgumentError
from tests.fixtures import training as given

EXPECTED = json.loads(Path(given.__file__).with_name("training.json").read_text())["speedometer"]


def param(epoch=0, nbatch=0, metric=None):
    return mx.model.BatchEndParam(epoch, nbatch, metric, None)


def metric():
    made = mx.metric.create("acc")
    made.update([mx.nd.array([0, 1])], [mx.nd.array([[0.3, 0.7], [0.2, 0.8]])])
    return made


def messages(caplog):
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("auto_reset", [True, False])
def test_speedometer_logs_what_mxnet_logs(auto_reset):
    assert given.speed_lines(mx, auto_reset) == EXPECTED[str(auto_reset)]


def test_speedometer_refuses():
    with pytest.raises(ArgumentError, match="frequent"):
        mx.callback.Speedometer(10, 0)


def test_progress_bar(capsys):
    bar = mx.callback.ProgressBar(total=4, length=60)
    for epoch in range(2):
        for nbatch in range(4):
            bar(param(epoch, nbatch))
    shown = capsys.readouterr().err
    assert "Epoch[0]" in shown and "Epoch[1]" in shown and "4/4" in shown
    bar(param(2, 0))
    bar(param(3, 0))  # an epoch that ended early
    bar.close()
    bar.close()


def test_log_train_metric(caplog):
    caplog.set_level(logging.INFO)
    each = metric()
    callback = mx.callback.log_train_metric(2, auto_reset=True)
    for nbatch in range(3):
        callback(param(1, nbatch, each))
    callback(param(1, 4, None))
    assert messages(caplog) == [
        "Iter[1] Batch[0] Train-accuracy=0.500000",
        "Iter[1] Batch[2] Train-accuracy=nan",
    ]


def test_log_validation(caplog):
    caplog.set_level(logging.INFO)
    mx.callback.LogValidationMetricsCallback()(param(3, 0, metric()))
    mx.callback.LogValidationMetricsCallback()(param(3, 0, None))
    assert messages(caplog) == ["Epoch[3] Validation-accuracy=0.500000"]


def test_checkpoints(tmp_path):
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    mod = mx.mod.Module(net, label_names=None)
    mod.bind([("data", (1, 2))])
    mod.init_params()
    mod.init_optimizer(optimizer_params={"momentum": 0.9})
    save = mx.callback.do_checkpoint(str(tmp_path / "a"), period=2)
    other = mx.callback.module_checkpoint(mod, str(tmp_path / "b"), 3, save_optimizer_states=True)
    for epoch in range(4):
        save(epoch, net, *mod.get_params())
        other(epoch)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a-0002.params",
        "a-0004.params",
        "a-symbol.json",
        "b-0003.params",
        "b-0003.states",
        "b-symbol.json",
    ]


@pytest.mark.parametrize("frequent", [1, 2])
def test_speedometer_over_epochs_of_one_batch(caplog, frequent):
    """A line for each epoch but the first, as MXNet 1.9.1 gives them."""
    caplog.set_level(logging.INFO)
    speed = mx.callback.Speedometer(4, frequent)
    for epoch in range(3):
        speed(param(epoch, 0, metric()))
    lines = [each.split("]")[0] for each in messages(caplog)]
    assert lines == ["Epoch[1", "Epoch[2"]
    assert all(f"Batch [{-frequent}-0]" in each for each in messages(caplog))


def test_log_train_metric_leaves_the_global_mean():
    each = metric()
    mx.callback.log_train_metric(1, auto_reset=True)(param(0, 0, each))
    assert each.num_inst == 0 and each.get_global() == ("accuracy", 0.5)
    each.update([mx.nd.array([1, 1])], [mx.nd.array([[0.3, 0.7], [0.2, 0.8]])])
    assert each.get() == ("accuracy", 1.0) and each.get_global() == ("accuracy", 0.75)
