"""cynet.gluon.contrib.estimator: order of events, what is refused, what is logged and written.

Orders, names of metrics and files, and lines of the log are those of MXNet 1.9.1.
"""

import logging
import re

import numpy as np
import pytest

import cynet as mx
from cynet import gluon
from cynet.gluon import Trainer, nn
from cynet.gluon import loss as losses
from cynet.gluon.contrib.estimator import (
    BatchBegin,
    BatchEnd,
    BatchProcessor,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochBegin,
    EpochEnd,
    Estimator,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)
from cynet.gluon.data import ArrayDataset, DataLoader

X = np.random.RandomState(0).rand(16, 4).astype(np.float32)
Y = (X.sum(axis=1) > 2).astype(np.float32)


@pytest.fixture
def loader():
    """Two batches of eight samples."""
    return DataLoader(ArrayDataset(X, Y), 8)


def estimator(rate=0.1, **settings):
    """A linear classifier that begins at 0."""
    net = nn.Dense(2)
    net.initialize(mx.init.Zero())
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": rate})
    loss = settings.pop("loss", losses.SoftmaxCrossEntropyLoss())
    made = Estimator(net, loss, **{"trainer": trainer, **settings})
    for handler in made.logger.handlers:
        made.logger.removeHandler(handler)
    made.lines = []
    record = logging.Handler()
    record.emit = lambda each: made.lines.append(each.getMessage())
    made.logger.addHandler(record)
    return made


class Recorder(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """Keeps the names of events and of what they bring; may answer some."""

    def __init__(self, answers=None):
        self.events, self.answers = [], answers or {}

    def _note(self, name, what):
        self.events.append((name, *sorted(what)))
        count = sum(event[0] == name for event in self.events)
        return self.answers.get((name, count))

    def train_begin(self, estimator, *args, **what):
        return self._note("train_begin", what)

    def train_end(self, estimator, *args, **what):
        return self._note("train_end", what)

    def epoch_begin(self, estimator, *args, **what):
        return self._note("epoch_begin", what)

    def epoch_end(self, estimator, *args, **what):
        return self._note("epoch_end", what)

    def batch_begin(self, estimator, *args, **what):
        return self._note("batch_begin", what)

    def batch_end(self, estimator, *args, **what):
        assert all(isinstance(what[name], list) for name in ("pred", "label", "loss"))
        return self._note("batch_end", what)

    def count(self, name):
        return sum(event[0] == name for event in self.events)


def test_order_of_events(loader):
    """K1."""
    seen = Recorder()
    estimator().fit(loader, epochs=2, event_handlers=seen)
    batch = [("batch_begin", "batch"), ("batch_end", "batch", "label", "loss", "pred")]
    epoch = [("epoch_begin",), *batch, *batch, ("epoch_end",)]
    assert seen.events == [("train_begin",), *epoch, *epoch, ("train_end",)]
    seen = Recorder()
    estimator().evaluate(loader, event_handlers=[seen])
    assert seen.events == epoch


def test_it_learns_as_a_loop_by_hand(loader):
    """The same weights as from record, backward and step; metrics of the last epoch."""
    made = estimator(rate=0.5)
    made.fit(loader, loader, epochs=3)
    net = nn.Dense(2)
    net.initialize(mx.init.Zero())
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    loss = losses.SoftmaxCrossEntropyLoss()
    for _ in range(3):
        total = 0
        for data, label in loader:
            with mx.autograd.record():
                value = loss(net(data), label)
            value.backward()
            trainer.step(8)
            total += float(value.sum().asscalar())
    np.testing.assert_array_equal(made.net.weight.data().asnumpy(), net.weight.data().asnumpy())
    values = dict(pair for each in made.train_metrics for pair in each.get_name_value())
    assert abs(values["training softmaxcrossentropyloss"] - total / 16) < 1e-6
    right = (net(mx.nd.array(X)).asnumpy().argmax(axis=1) == Y).mean()
    assert made.val_metrics[0].get() == ("validation accuracy", right)


def test_how_long_is_asked_once(loader):
    """K2."""
    for settings in ({}, {"epochs": 1, "batches": 2}):
        with pytest.raises(ValueError, match="give epochs or batches, and not both"):
            estimator().fit(loader, **settings)
    for settings in ({"epochs": 0}, {"batches": -1}):
        with pytest.raises(ValueError, match="must be 1 or more, got"):
            estimator().fit(loader, **settings)
    with pytest.raises(TypeError, match="fit: epochs must be an int, got 2.5"):
        estimator().fit(loader, epochs=2.5)
    data = mx.io.NDArrayIter(X, Y, 8)
    with pytest.raises(ValueError, match="data must be a gluon.data.DataLoader, got"):
        estimator().fit(data, epochs=1)
    with pytest.raises(ValueError, match="data must be a gluon.data.DataLoader, got"):
        estimator().evaluate(data)
    with pytest.raises(ValueError, match="train_data has no batches"):
        estimator().fit(DataLoader(ArrayDataset(X[:0], Y[:0]), 8), batches=1)


def names(metrics):
    return [each.name for each in metrics]


def test_names_of_metrics():
    """K3."""
    made = estimator()
    assert names(made.train_metrics) == ["training accuracy", "training softmaxcrossentropyloss"]
    assert names(made.val_metrics) == ["validation accuracy", "validation softmaxcrossentropyloss"]
    assert names(estimator(loss=losses.L2Loss()).train_metrics) == ["training l2loss"]
    both = [mx.metric.Accuracy(), mx.metric.TopKAccuracy(2)]
    made = estimator(train_metrics=both, val_metrics=mx.metric.F1())
    assert names(made.train_metrics) == ["training accuracy", "training top_k_accuracy_2"]
    assert names(made.val_metrics) == ["validation f1"]
    made = estimator(train_metrics=mx.metric.CompositeEvalMetric([mx.metric.Accuracy()]))
    assert names(made.train_metrics) == ["training accuracy"]
    assert names(made.val_metrics) == ["validation accuracy"]


def test_default_handlers(loader):
    """K3: updates and metrics come first, logging last, the user's between."""
    made = estimator()
    made.max_epoch = 1
    kinds = [type(each).__name__ for each in made._prepare_default_handlers(loader, Recorder())]
    assert kinds == [
        "GradientUpdateHandler",
        "MetricHandler",
        "ValidationHandler",
        "Recorder",
        "StoppingHandler",
        "LoggingHandler",
    ]
    kinds = [type(each).__name__ for each in made._prepare_default_validation_handlers(None)]
    assert kinds == ["MetricHandler", "LoggingHandler"]
    own = [LoggingHandler(metrics=made.train_metrics), GradientUpdateHandler(priority=5)]
    kinds = [type(each).__name__ for each in made._prepare_default_handlers(None, own)]
    assert kinds == ["MetricHandler", "StoppingHandler", "GradientUpdateHandler", "LoggingHandler"]


def test_priorities(loader):
    order = []

    class Noted(BatchEnd):
        def __init__(self, priority):
            self.priority = priority

        def batch_end(self, estimator, *args, **what):
            order.append(self.priority)

    estimator().fit(loader, batches=1, event_handlers=[Noted(3), Noted(-3), Noted(0)])
    assert order == [-3, 0, 3]


def without_times(lines):
    return [re.sub(r"\d+\.\d+s", "_s", each) for each in lines]


def test_log(loader):
    """K4."""
    made = estimator(rate=0.5)
    made.fit(loader, loader, epochs=1, event_handlers=LoggingHandler(1, made.train_metrics))
    lines = without_times(made.lines)
    assert lines[:3] == [
        "Training begins: optimizer SGD, learning rate 0.5000",
        "Train for 1 epochs.",
        "[Epoch 0] Begins, learning rate 0.5000",
    ]
    form = (
        r"\[Epoch 0\]\[Batch {}\]\[Samples {}\] time/interval: _s training accuracy: 0\.\d{{4}}, "
    )
    form += r"training softmaxcrossentropyloss: \d\.\d{{4}}"
    for i, samples in enumerate((8, 16)):
        assert re.fullmatch(form.format(i, samples), lines[3 + i]), lines[3 + i]
    assert lines[5] == "Validation begins"
    assert lines[6].startswith("Validation Finished in _s, validation accuracy: 0.")
    assert lines[7].startswith("[Epoch 0] Finished in _s, training accuracy: 0.")
    assert re.match(r"Training ended after 1 epochs, \ds, training acc", lines[8])
    made = estimator()
    made.fit(DataLoader(ArrayDataset(X, Y), 3), batches=7, event_handlers=LoggingHandler(2))
    assert made.lines[1] == "Train for 7 batches."
    assert [m[1] for line in made.lines if (m := re.search(r"\]\[Batch (\d)\]", line))] == [
        "0",
        "2",
        "4",
        "0",
    ]
    for bad in ("x", 2.5, 0):
        with pytest.raises(ValueError, match="log_interval"):
            LoggingHandler(bad)


def test_it_ends_where_handlers_say(loader):
    """K6: True at the end of a batch ends an epoch, at the end of an epoch ends training."""
    seen = Recorder()
    estimator().fit(loader, batches=5, event_handlers=seen)
    assert seen.count("batch_end") == 5 and seen.count("epoch_end") == 3
    seen = Recorder({("batch_end", 3): True})
    estimator().fit(loader, epochs=5, event_handlers=seen)
    assert seen.count("batch_end") == 9 and seen.count("epoch_end") == 5
    seen = Recorder({("epoch_end", 2): True})
    estimator().fit(loader, epochs=5, event_handlers=seen)
    assert seen.count("batch_end") == 4 and seen.count("train_end") == 1


def test_early_stopping(loader):
    made = estimator()
    handler = EarlyStoppingHandler(made.train_metrics[0], min_delta=10, patience=1)
    made.fit(loader, epochs=9, event_handlers=handler)
    assert (handler.wait, handler.stopped_epoch, handler.current_epoch) == (1, 1, 2)
    assert any("training accuracy does not improve, training ends" in line for line in made.lines)
    made = estimator(rate=0.5)
    handler = EarlyStoppingHandler(made.train_metrics[1], patience=3)
    made.fit(loader, epochs=6, event_handlers=handler)
    assert handler.current_epoch == 6 and handler.wait == 0  # a loss that falls is better
    handler = EarlyStoppingHandler(made.train_metrics[1], baseline=0.01, patience=2)
    made.fit(loader, epochs=6, event_handlers=handler)
    assert handler.current_epoch == 2 and handler.best == 0.01
    with pytest.raises(ValueError, match="monitor must be one of estimator.train_metrics"):
        EarlyStoppingHandler("accuracy")


def test_modes():
    """By the name, where the mode does not say; MXNet takes large losses for good."""
    cases = {
        mx.metric.Accuracy(): np.greater,
        mx.metric.F1(): np.greater,
        mx.metric.MSE(): np.less,
        mx.metric.Loss("training l2loss"): np.less,
        mx.metric.Perplexity(None): np.less,
    }
    for metric, wanted in cases.items():
        assert EarlyStoppingHandler(metric).monitor_op is wanted
        assert EarlyStoppingHandler(metric, mode="min").monitor_op is np.less
        assert EarlyStoppingHandler(metric, mode="max").monitor_op is np.greater
    with pytest.warns(RuntimeWarning, match="mode must be 'auto', 'min' or 'max', got 'bad'"):
        assert EarlyStoppingHandler(mx.metric.MSE(), mode="bad").monitor_op is np.less
    odd = mx.metric.np(lambda label, pred: 0.0, name="odd")
    with pytest.warns(UserWarning, match="does not say whether large values are good"):
        EarlyStoppingHandler(odd)


def test_a_metric_without_values(loader):
    made = estimator()
    with pytest.warns(RuntimeWarning, match="validation accuracy has no value"):
        made.fit(loader, epochs=1, event_handlers=EarlyStoppingHandler(made.val_metrics[0]))


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_checkpoints(loader, tmp_path):
    """K5: names of files, the best one, and only so many."""
    made = estimator(rate=0.5)
    made.net.hybridize()
    best = CheckpointHandler(tmp_path, "m", monitor=made.train_metrics[1], save_best=True)
    made.fit(loader, epochs=2, event_handlers=best)
    names_of = ["m-best", "m-epoch0batch2", "m-epoch1batch4"]
    wanted = [f"{name}.{kind}" for name in names_of for kind in ("params", "random", "states")]
    assert files(tmp_path) == [
        each for each in [*wanted, "m-symbol.json"] if each != "m-best.random"
    ]
    other = nn.Dense(2)
    other.load_parameters(tmp_path / "m-best.params")
    np.testing.assert_array_equal(other.weight.data().asnumpy(), made.net.weight.data().asnumpy())
    symbol = nn.SymbolBlock.imports(tmp_path / "m-symbol.json", ["data"])
    assert len(symbol.collect_params().keys()) == 2
    made = estimator()
    every = CheckpointHandler(
        tmp_path / "b", "m", batch_period=1, epoch_period=None, max_checkpoints=2, verbose=1
    )
    made.fit(loader, epochs=2, event_handlers=every)
    names_of = ["m-epoch1batch2", "m-epoch1batch3"]
    wanted = [f"{name}.{kind}" for name in names_of for kind in ("params", "random", "states")]
    assert files(tmp_path / "b") == wanted
    assert any("3 batches trained, wrote m-epoch1batch2 in" in line for line in made.lines)
    assert any("m-symbol.json is not written" in line for line in made.lines)
    with pytest.raises(ValueError, match="monitor must be one of estimator.train_metrics"):
        CheckpointHandler(tmp_path, save_best=True)


def momentum(**settings):
    net = nn.Dense(2)
    net.initialize(mx.init.Zero())
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    made = Estimator(net, losses.SoftmaxCrossEntropyLoss(), trainer=trainer, **settings)
    made.logger.setLevel(logging.ERROR)
    return made


def test_going_on_from_a_checkpoint(loader, tmp_path):
    """Two epochs and three more give what five give, to the last bit."""
    whole = momentum()
    whole.fit(loader, epochs=5)
    momentum().fit(loader, epochs=2, event_handlers=CheckpointHandler(tmp_path, "m"))
    rest = momentum()
    handler = CheckpointHandler(tmp_path, "m", resume_from_checkpoint=True)
    rest.fit(loader, epochs=5, event_handlers=handler)
    assert rest.max_epoch == 3
    assert "m-epoch4batch10.params" in files(tmp_path)
    np.testing.assert_array_equal(
        rest.net.weight.data().asnumpy(), whole.net.weight.data().asnumpy()
    )
    with pytest.raises(ValueError, match="the last checkpoint has 5 of 5 epochs"):
        momentum().fit(loader, epochs=5, event_handlers=handler)
    with pytest.raises(AssertionError, match="must be written by batch_period alone"):
        momentum().fit(loader, batches=20, event_handlers=handler)


def test_going_on_keeps_the_random_state(tmp_path):
    """Dropout and shuffled batches go on as they would have."""
    print("seed 11")
    x = mx.nd.array(np.random.default_rng(11).normal(size=(24, 4)))
    y = mx.nd.array(np.arange(24) % 3)

    def fit(epochs, seed, *handlers):
        net = nn.HybridSequential()
        net.add(nn.Dropout(0.5), nn.Dense(3, in_units=4))
        net.initialize(mx.init.One())
        trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        made = Estimator(net, losses.SoftmaxCrossEntropyLoss(), trainer=trainer)
        made.logger.setLevel(logging.ERROR)
        mx.random.seed(seed)
        np.random.seed(seed)
        data = mx.gluon.data.DataLoader(mx.gluon.data.ArrayDataset(x, y), 8, shuffle=True)
        made.fit(data, epochs=epochs, event_handlers=list(handlers))
        return net[1].weight.data().asnumpy()

    whole = fit(4, 1)
    fit(2, 1, CheckpointHandler(tmp_path, "m", max_checkpoints=1))
    assert [name for name in files(tmp_path) if name.endswith(".random")] == [
        "m-epoch1batch6.random"
    ]
    rest = fit(4, 2, CheckpointHandler(tmp_path, "m", resume_from_checkpoint=True))
    np.testing.assert_array_equal(rest, whole)


def test_going_on_by_batches(loader, tmp_path):
    whole = momentum()
    whole.fit(loader, batches=6)
    settings = {"batch_period": 2, "epoch_period": None}
    momentum().fit(loader, batches=4, event_handlers=CheckpointHandler(tmp_path, **settings))
    rest = momentum()
    handler = CheckpointHandler(tmp_path, resume_from_checkpoint=True, **settings)
    rest.fit(loader, batches=6, event_handlers=handler)
    assert rest.max_batch == 2
    np.testing.assert_array_equal(
        rest.net.weight.data().asnumpy(), whole.net.weight.data().asnumpy()
    )
    assert "model-epoch2batch5.params" in files(tmp_path)


def test_going_on_from_nothing(loader, tmp_path):
    made = estimator()
    handler = CheckpointHandler(tmp_path / "new", resume_from_checkpoint=True)
    made.fit(loader, epochs=1, event_handlers=handler)
    assert "CheckpointHandler: no checkpoint found, training begins, for 1 epochs" in made.lines


def test_validation_between_batches(loader):
    made = estimator()
    calls = []
    handler = ValidationHandler(loader, lambda **what: calls.append(what), 2, batch_period=3)
    made.fit(loader, epochs=4, event_handlers=handler)
    assert len(calls) == 2 + 2  # after batches 3 and 6, epochs 2 and 4
    assert set(calls[0]) == {"val_data", "batch_axis", "event_handlers"}
    with pytest.raises(TypeError, match="eval_fn must be callable, got 3"):
        ValidationHandler(loader, 3)


def test_metrics_that_nothing_updates(loader):
    made = estimator()
    with pytest.raises(ValueError, match="MetricHandler looks at a metric 'mse' that nothing"):
        made.fit(loader, epochs=1, event_handlers=MetricHandler(mx.metric.MSE()))
    with pytest.raises(ValueError, match="EarlyStoppingHandler looks at a metric 'accuracy'"):
        made.fit(loader, epochs=1, event_handlers=EarlyStoppingHandler(mx.metric.Accuracy()))


def test_what_it_is_made_of():
    """K7."""
    net = nn.Dense(2, in_units=4)
    loss = losses.SoftmaxCrossEntropyLoss()
    with pytest.warns(UserWarning, match="no trainer is given, so it is SGD"):
        made = Estimator(net, loss)
    assert made.trainer.learning_rate == 0.001
    assert made.net.weight.data().shape == (2, 4)  # it was initialized
    trainer = made.trainer
    with pytest.warns(UserWarning, match="the network is initialized already"):
        Estimator(net, loss, initializer=mx.init.One(), trainer=trainer)
    with pytest.warns(UserWarning, match="no trainer"):
        made = Estimator(nn.Dense(2, in_units=4), loss, initializer=mx.init.One())
    assert (made.net.weight.data().asnumpy() == 1).all()
    for settings, told in (
        ({"loss": "mse"}, "loss must be a gluon.loss.Loss, got 'mse'"),
        ({"train_metrics": "acc"}, "metrics must be an EvalMetric or a list of them, got 'acc'"),
        ({"val_metrics": ["acc"]}, "metrics must be an EvalMetric"),
        ({"trainer": "sgd"}, "trainer must be a gluon.Trainer, got 'sgd'"),
        ({"context": "cpu"}, "context must be a Context or a list of them, got 'cpu'"),
        ({"context": []}, "context must be a Context"),
        ({"batch_processor": "x"}, "batch_processor needs methods fit_batch and evaluate_batch"),
        ({"net": "x"}, "net must be a Block, got 'x'"),
        ({"val_net": "x"}, "net must be a Block, got 'x'"),
    ):
        with pytest.raises(ValueError, match=told):
            Estimator(**{"net": net, "loss": loss, "trainer": trainer, **settings})
    with pytest.raises(ValueError, match="event_handlers must be an EventHandler"):
        made.fit(DataLoader(ArrayDataset(X, Y), 8), epochs=1, event_handlers=[1])


def test_several_contexts(loader):
    """Parts of a batch on each; the same weights as on one."""
    one, two = estimator(rate=0.5), None
    net = nn.Dense(2)
    net.initialize(mx.init.Zero(), ctx=[mx.cpu(0), mx.cpu(1)])
    trainer = Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    two = Estimator(
        net, losses.SoftmaxCrossEntropyLoss(), trainer=trainer, context=[mx.cpu(0), mx.cpu(1)]
    )
    two.logger.setLevel(logging.ERROR)
    for each in (one, two):
        each.fit(loader, epochs=2)
    np.testing.assert_allclose(
        net.weight.data(mx.cpu(1)).asnumpy(), one.net.weight.data().asnumpy(), rtol=1e-5
    )
    assert one.train_metrics[0].get() == two.train_metrics[0].get()


def test_a_batch_processor_of_ones_own(loader):
    """Two losses of one batch, and another network for validation."""
    seen = []

    class Doubled(BatchProcessor):
        def fit_batch(self, estimator, train_batch, batch_axis=0):
            seen.append(batch_axis)
            data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
            with mx.autograd.record():
                pred = [estimator.net(each) for each in data]
                loss = [estimator.loss(p, wanted) * 2 for p, wanted in zip(pred, label)]
            mx.autograd.backward(loss)
            return data, label, pred, loss

    val_net = nn.Dense(2)
    val_net.initialize(mx.init.Zero())
    made = estimator(batch_processor=Doubled(), val_net=val_net, val_loss=losses.L2Loss())
    made.fit(loader, epochs=1, event_handlers=StoppingHandler(1))
    assert seen == [0, 0]
    twice = estimator(rate=0.2)
    twice.fit(loader, epochs=1)
    np.testing.assert_allclose(
        made.net.weight.data().asnumpy(), twice.net.weight.data().asnumpy(), rtol=1e-5
    )
    only = estimator(val_net=val_net)
    only.net.initialize(mx.init.One(), force_reinit=True)
    only.evaluate(loader)
    assert abs(only.val_metrics[1].get()[1] - np.log(2)) < 1e-6


def test_the_default_logger_writes_to_stdout(loader, capsys):
    net = nn.Dense(2)
    net.initialize()
    trainer = Trainer(net.collect_params(), "sgd")
    Estimator(net, losses.SoftmaxCrossEntropyLoss(), trainer=trainer).fit(loader, epochs=1)
    assert "[Epoch 0] Finished in" in capsys.readouterr().out


def test_a_gpu_that_is_not_there():
    net, loss = gluon.nn.Dense(2), gluon.loss.L2Loss()
    with pytest.raises(AssertionError, match=r"context gpu\(100\) is not there: this machine has"):
        Estimator(net, loss, context=[mx.cpu(), mx.gpu(100)])


def test_handlers_of_each_event():
    class Begins(TrainBegin):
        pass

    class Most(EpochBegin, BatchBegin, TrainEnd):
        pass

    net = gluon.nn.Dense(2, in_units=2)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    estimator = Estimator(net, gluon.loss.L2Loss(), mx.metric.Accuracy(), trainer=trainer)
    begins, most = Begins(), Most()
    found = estimator._categorize_handlers([begins, most])
    assert found == ([begins], [most], [most], [], [], [most])


def test_labels_that_are_fractions():
    """Regression beside an accuracy, which counts by whole numbers, as MXNet's does."""
    net = gluon.nn.Dense(4, in_units=3)
    net.initialize(mx.init.Zero())
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.0})
    estimator = Estimator(net, gluon.loss.L2Loss(), mx.metric.Accuracy(), trainer=trainer)
    estimator.logger.setLevel("ERROR")
    label = np.full((8, 4), 0.7, "float32")
    label[:2] = 1.2
    data = gluon.data.ArrayDataset(np.ones((8, 3), "float32"), label)
    loader = gluon.data.DataLoader(data, 4)
    estimator.fit(loader, val_data=loader, epochs=1)
    assert estimator.train_metrics[0].get() == ("training accuracy", 0.75)
    assert estimator.val_metrics[0].get() == ("validation accuracy", 0.75)
