"""History and Progress: the table that fit returns, and lines for whoever has no log."""

import logging

import numpy as np
import pytest

import cynet as mx
from cynet.module import history as shown
from cynet.module import progress


def fit(**options):
    net = mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2), name="softmax"
    )
    data = mx.io.NDArrayIter(np.ones((8, 3)), np.zeros(8), 4)
    return mx.mod.Module(net, logger=options.pop("logger", logging)).fit(
        data, num_epoch=3, **options
    )


def test_the_table():
    table = shown.History()
    table.add(5, 1.5, [("acc", 0.5)])
    table.add(6, 1.25, [("acc", 0.75), ("late", 2)])
    table.add_validation([("acc", 0.25)])
    lines = str(table).splitlines()
    assert lines[0].split() == ["epoch", "Train-acc", "Train-late", "Validation-acc", "seconds"]
    assert lines[1].split() == ["5", "0.500000", "nan", "nan", "1.500"]
    assert lines[2].split() == ["6", "0.750000", "2.000000", "0.250000", "1.250"]
    assert len({len(line) for line in lines}) == 1
    page = table._repr_html_()
    assert page.count("<tr>") == 3 and page.count("<th>") == 5 and "<td>0.750000</td>" in page
    assert len(shown.History()) == 0 and str(shown.History()).split() == ["epoch", "seconds"]


def test_names_are_escaped():
    table = shown.History()
    table.add(0, 1.0, [("custom(<lambda>)", 1.0)])
    assert "custom(&lt;lambda&gt;)" in table._repr_html_()


@pytest.mark.parametrize(
    "options, lines",
    [
        ({}, True),
        ({"batch_end_callback": lambda param: None}, True),
        ({"verbose": False}, False),
        ({"verbose": True, "batch_end_callback": lambda param: None}, True),
        ({"epoch_end_callback": lambda *args: None}, True),
    ],
)
def test_who_sees_lines(options, lines, capsys):
    fit(**options)
    seen = capsys.readouterr()
    assert seen.out == ""
    assert ("Epoch[0] Train-accuracy=" in seen.err) == lines
    assert ("Epoch[2] Train-accuracy=" in seen.err) == lines


def test_a_log_is_enough(capsys, caplog):
    with caplog.at_level(logging.INFO):
        fit()
    assert capsys.readouterr().err == ""
    assert "Epoch[2] Train-accuracy" in caplog.text
    quiet = logging.getLogger("tests.quiet")
    quiet.setLevel(logging.ERROR)
    fit(logger=quiet)
    assert "Epoch[0]" in capsys.readouterr().err


def test_long_epochs_show_batches(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_BATCH_PAUSE_SECONDS", 0.0)
    data = mx.io.NDArrayIter(np.ones((8, 3)), np.zeros(8), 4)
    fit(eval_data=data)
    err = capsys.readouterr().err
    assert "Epoch[0] Batch[0/2] Train-accuracy=" in err and "Epoch[1] Batch[1/2]" in err
    assert "Validation-accuracy=" in err


def test_short_epochs_do_not_flood(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_EPOCH_PAUSE_SECONDS", 1e6)
    fit()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["Epoch[0]", "Epoch[2]"]


def test_plot_draws_every_metric(tmp_path):
    history = shown.History()
    for epoch in range(3):
        history.add(epoch, 0.1, [("accuracy", 0.5 + 0.1 * epoch), ("ce", 1.0 - 0.1 * epoch)])
        history.add_validation([("accuracy", 0.4 + 0.1 * epoch)])
    figure = history.plot(tmp_path / "history.svg")
    accuracy, ce = figure.axes
    assert [axes.get_ylabel() for axes in figure.axes] == ["accuracy", "ce"]
    assert [line.get_label() for line in accuracy.lines] == ["Train", "Validation"]
    assert accuracy.lines[1].get_ydata().tolist() == history.metrics["Validation-accuracy"]
    assert ce.lines[0].get_xdata().tolist() == [0, 1, 2]
    assert "<svg" in (tmp_path / "history.svg").read_text()
    assert len(history.plot(metrics=["ce"]).axes) == 1
    with pytest.raises(mx.errors.ArgumentError, match="no metric 'mse', but accuracy, ce"):
        history.plot(metrics=["mse"])
    with pytest.raises(mx.errors.ArgumentError, match="no figures"):
        shown.History().plot()
    with pytest.raises(OSError, match="there"):
        history.plot(tmp_path / "not" / "there.png")
