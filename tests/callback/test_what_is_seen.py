"""What a user sees of a training: lines without a log, names of metrics, nan."""

import logging
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import tqdm

import cynet as mx
from cynet.callback.fit import find_nan_output
from cynet.module.progress import is_in_notebook


def network():
    data = mx.sym.var("data")
    return mx.sym.SoftmaxOutput(
        mx.sym.FullyConnected(data, num_hidden=2, name="fc"), name="softmax"
    )


def batches(n=40, bad=False):
    data = np.random.default_rng(0).standard_normal((n, 3)).astype("float32")
    if bad:
        data[n // 2] = np.nan
    return mx.io.NDArrayIter(data, (data[:, 0] > 0).astype("float32"), 4)


def fit(data=None, **kwargs):
    module = mx.mod.Module(network(), context=mx.cpu())
    kwargs.setdefault("num_epoch", 2)
    return module.fit(data or batches(), **kwargs)


SCRIPT = """
import logging, sys
import numpy as np
import cynet as mx
from tests.callback.test_what_is_seen import fit
{log}
fit(batch_end_callback=mx.callback.Speedometer(4, 3), callbacks=[mx.callback.TimeLeft()])
"""


@pytest.mark.parametrize(
    "log, where",
    [
        ("", "stderr"),
        ("logging.getLogger().addHandler(logging.StreamHandler(sys.stdout))", "stderr"),
        ("logging.basicConfig(level=logging.INFO, stream=sys.stdout)", "stdout"),
    ],
)
def test_lines_are_seen_once(log, where):
    """In the log if INFO is logged, else on stderr: of Speedometer, TimeLeft and fit itself."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(log=log)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    text, other = getattr(done, where), getattr(done, {"stdout": "stderr"}.get(where, "stdout"))
    assert text.count("samples/sec") == 6 and text.count("time left") == 2, text
    assert "Train-accuracy=" in text and not other, done


def test_names_of_metrics_are_checked_before_the_first_epoch():
    class Counting(mx.callback.FitCallback):
        epochs = 0

        def epoch_end(self, state):
            Counting.epochs += 1

    for make in (
        lambda name: mx.callback.EarlyStopping(name, mode="max"),
        lambda name: mx.callback.ReduceOnPlateau(name, mode="max"),
        lambda name: mx.callback.BestCheckpoint("x", name, mode="max"),
    ):
        for name in ("rmse", "Validation-accuracy", "Train-rmse", "accuraci"):
            with pytest.raises(mx.MXNetError, match=rf"no metric '{name}'; there are Train-"):
                fit(callbacks=[Counting(), make(name)])
    assert Counting.epochs == 0


@pytest.mark.parametrize("name", ["acc", "accuracy", "Train-acc", "Train-accuracy", "ce", "top_k"])
def test_aliases_of_metrics(name):
    metrics = mx.metric.create(["acc", "ce"])
    metrics.add(mx.metric.create("top_k_accuracy", top_k=2))
    if name == "top_k":
        name = "top_k_accuracy_2"
    seen = []

    class Look(mx.callback.FitCallback):
        def epoch_end(self, state):
            seen.append(state.figure(name))

    history = fit(
        eval_metric=metrics, callbacks=[Look(), mx.callback.EarlyStopping(name, mode="max")]
    )
    word = {"acc": "accuracy", "ce": "cross-entropy"}.get(name.split("-")[-1], name.split("-")[-1])
    assert seen == history.metrics[f"Train-{word}"]


def test_a_users_metric_may_name_its_figures_later():
    class Late(mx.metric.EvalMetric):
        def update(self, labels, preds):
            self.sum_metric, self.num_inst = 1.0, 1

        def get_global_name_value(self):
            return [("late" if self.num_inst else "early", 1.0)]

    history = fit(
        eval_metric=Late("late"), callbacks=[mx.callback.EarlyStopping("late", mode="max")]
    )
    assert list(history.metrics) == ["Train-late"]


def test_nan_warns_once_and_names_the_remedy():
    with pytest.warns(RuntimeWarning, match=r"Train-cross-entropy is nan .* 0.*debug_nans"):
        history = fit(batches(bad=True), eval_metric=["acc", "ce"], num_epoch=3)
    assert np.isnan(history.metrics["Train-cross-entropy"]).all() and len(history.epochs) == 3


def test_nan_warns_once(recwarn):
    fit(batches(bad=True), eval_metric="ce", num_epoch=3)
    said = [w for w in recwarn if "is nan" in str(w.message)]
    assert len(said) == 1 and said[0].filename == __file__


@pytest.mark.parametrize("validated", [False, True])
def test_nan_that_no_metric_shows_warns_once(recwarn, validated):
    history = fit(batches(bad=True), eval_data=batches() if validated else None, num_epoch=3)
    said = [str(w.message) for w in recwarn if "is nan" in str(w.message)]
    assert len(said) == 1 and "the output softmax_output is nan after epoch 0" in said[0]
    assert not np.isnan(history.metrics["Train-accuracy"]).any()
    fit(num_epoch=3)
    assert len([w for w in recwarn if "is nan" in str(w.message)]) == 1


def test_stop_on_nan_that_no_metric_shows():
    stop = mx.callback.StopOnNaN(period=2)
    history = fit(batches(bad=True), num_epoch=3, callbacks=[stop])
    assert history.reason == "the output softmax_output is nan after batch 5"


def test_nan_of_a_module_without_outputs_is_not_looked_for():
    class Silent(mx.mod.Module):
        def get_outputs(self, merge_multi_context=True):
            return mx.mod.BaseModule.get_outputs(self)

    assert find_nan_output(Silent(mx.sym.Variable("data"), label_names=None)) is None


def test_stop_on_nan():
    stop = mx.callback.StopOnNaN(period=2)
    history = fit(batches(bad=True), eval_metric="ce", num_epoch=3, callbacks=[stop])
    # row 20 of 40 is in batch 5; the second look after it is the one after batch 5
    assert history.reason == "cross-entropy is nan after batch 5" and not history.epochs
    with pytest.warns(RuntimeWarning, match="is nan"):
        history = fit(
            batches(bad=True), eval_metric="ce", callbacks=[mx.callback.StopOnNaN(period=0)]
        )
    assert history.reason == "Train-cross-entropy is nan after epoch 0" and history.epochs == [0]
    assert fit(callbacks=[mx.callback.StopOnNaN()]).reason is None
    for period in (-1, 0.5, "2", int, np.ones((2, 3)), np.zeros((0, 3))):
        with pytest.raises(mx.MXNetError, match="period must be an int"):
            mx.callback.StopOnNaN(period)


def test_shows_info():
    from cynet.callback.messages import is_info_shown

    logger = logging.getLogger("cynet.test.is_info_shown")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    assert not is_info_shown(logger)
    logger.addHandler(logging.NullHandler())
    assert is_info_shown(logger)
    logger.setLevel(logging.WARNING)
    assert not is_info_shown(logger) and is_info_shown(object())


def lines_of(capsys, **options):
    fit(num_epoch=3, verbose=True, **options)
    return capsys.readouterr().err


def test_lines_of_batches_have_total_and_time_left(monkeypatch, capsys):
    monkeypatch.setattr("cynet.module.progress._BATCH_PAUSE_SECONDS", -1.0)
    monkeypatch.setattr("cynet.module.progress._EPOCH_PAUSE_SECONDS", -1.0)
    said = lines_of(capsys)
    for epoch in range(3):
        for batch in range(10):
            line = rf"^Epoch\[{epoch}\] Batch\[{batch}/10\] Train-accuracy=\S+ \(0:00:\d\d left\)$"
            assert re.search(line, said, re.M), said
        assert re.search(rf"^Epoch\[{epoch}\] Train-accuracy=\S+ \(\S+ s\)$", said, re.M)
    # an iterator that does not say how much it has: known from the first epoch on
    said = lines_of(capsys, data=Unsized())
    assert "Epoch[0] Batch[9] Train" in said and "Epoch[1] Batch[0/10] Train" in said


class Unsized(mx.io.DataIter):
    """Batches of which nobody knows how many come."""

    def __init__(self):
        self._data = batches()
        super().__init__(4)
        self.provide_data, self.provide_label = self._data.provide_data, self._data.provide_label

    def reset(self):
        self._data.reset()

    def next(self):
        return self._data.next()


class ZMQInteractiveShell:
    """The class of the shell of a kernel of Jupyter, by its name."""


@pytest.fixture
def notebook(monkeypatch):
    shell = ZMQInteractiveShell()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert is_in_notebook()


@pytest.mark.parametrize("sized", [True, False])
def test_a_notebook_has_a_bar_over_all_batches(notebook, monkeypatch, capsys, sized):
    bars = []

    class Recording(tqdm.tqdm):
        def close(self):
            bars.append((self.n, self.total, self.desc.rstrip(": ")))
            super().close()

    monkeypatch.setattr("tqdm.tqdm", Recording)
    said = lines_of(capsys, data=batches() if sized else Unsized())
    assert bars[0] == (30, 30, "Epoch[2]")
    assert said.count("Train-accuracy=") >= 1 and "batch/s" in said and "Batch[" not in said
    bars.clear()
    # a callback of the user's, or silence: no bar
    fit(verbose=False)
    fit(batch_end_callback=lambda param: None)
    assert not bars
    with pytest.raises(ZeroDivisionError, match="of a callback"):
        fit(callbacks=[Failing()])
    assert bars[0][0] == 1  # it is closed, whatever happens


class Failing(mx.callback.FitCallback):
    def batch_end(self, state):
        raise ZeroDivisionError("of a callback")
