"""What a user's metric defines itself is what score returns, fit logs, and callbacks see."""

import logging

import numpy as np
import pytest

import cynet as mx

ROWS, SIZE = 48, 12


class OwnGet(mx.metric.Accuracy):
    def get(self):
        return "error", 1 - super().get()[1]


class OwnGetOfAMean(mx.metric.MSE):
    def get(self):
        return "half", super().get()[1] / 2


class OwnPairs(mx.metric.Accuracy):
    def get_name_value(self):
        right = super().get()[1]
        return [("right", right), ("wrong", 1 - right)]


class OwnGlobal(mx.metric.Accuracy):
    def get_global(self):
        return "all", 10 * super().get_global()[1]


class OwnGlobalPairs(mx.metric.Accuracy):
    def get_global_name_value(self):
        return [("whole", self.get_global()[1])]


class OwnDict(mx.metric.Accuracy):
    """Counts labels only."""

    def update_dict(self, label, pred):
        assert list(label) == ["softmax_label"] and list(pred) == ["softmax_output"]
        self._add(2 * len(label["softmax_label"]), len(label["softmax_label"]))


class OwnSums(mx.metric.Accuracy):
    """Knows the local sums alone, as metrics written for older versions."""

    def update(self, labels, preds):
        self.sum_metric += 3 * len(labels[0])
        self.num_inst += len(labels[0])


class OwnReset(mx.metric.Accuracy):
    def reset(self):
        super().reset()
        self.sum_metric = self.global_sum_metric = 7.0
        self.num_inst = self.global_num_inst = 1


class Both(mx.metric.CompositeEvalMetric):
    def get(self):
        names, values = super().get()
        return [f"my-{each}" for each in names], [2 * each for each in values]


@pytest.fixture(scope="module")
def data():
    random = np.random.RandomState(0)
    return random.randn(ROWS, 5).astype("float32"), random.randint(0, 3, ROWS).astype("float32")


def module(metric, log):
    label = mx.sym.var("softmax_label")
    mean = isinstance(metric, mx.metric.MSE)
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1 if mean else 3, name="fc")
    head = mx.sym.LinearRegressionOutput if mean else mx.sym.SoftmaxOutput
    return mx.mod.Module(head(net, label, name="softmax"), logger=log)


def expected(metric, right):
    """What a share `right` is shown as."""
    return {
        OwnGet: [("error", 1 - right)],
        OwnPairs: [("right", right), ("wrong", 1 - right)],
        OwnGlobal: [("all", 10 * right)],
        OwnGlobalPairs: [("whole", right)],
        OwnDict: [("accuracy", 2.0)],
        OwnSums: [("accuracy", 3.0)],
        OwnReset: [("accuracy", (7 + right * ROWS) / (ROWS + 1))],
        Both: [("my-accuracy", 2 * right), ("my-top_k_accuracy_2", None)],
    }[type(metric)]


KINDS = [
    OwnGet,
    OwnPairs,
    OwnGlobal,
    OwnGlobalPairs,
    OwnDict,
    OwnSums,
    OwnReset,
    lambda: Both(["acc", mx.metric.TopKAccuracy(2)]),
]


@pytest.mark.parametrize("make", KINDS, ids=lambda each: each.__name__)
def test_score_fit_and_callbacks_agree(make, data, caplog):
    log = logging.getLogger("test_own_figures")
    caplog.set_level(logging.INFO)
    metric, seen = make(), []
    it = mx.io.NDArrayIter(*data, SIZE)
    trained = module(metric, log)
    history = trained.fit(
        it,
        it,
        metric,
        num_epoch=1,
        validation_metric=make(),
        optimizer_params={"learning_rate": 0.0},
        # a Speedometer that restarts local means: the epoch's figure is of all batches all the same
        batch_end_callback=mx.callback.Speedometer(SIZE, 2, not isinstance(metric, OwnSums)),
        eval_end_callback=lambda p: seen.append(p.eval_metric.get_name_value()),
    )
    outputs = trained.predict(it).asnumpy()
    right = float(np.mean(outputs.argmax(axis=1) == data[1]))
    want = expected(metric, right)
    figures = {"score": trained.score(it, make())}
    for part in ("Train", "Validation"):
        columns = [
            (k.removeprefix(f"{part}-"), v[0])
            for k, v in history.metrics.items()
            if k.startswith(part)
        ]
        figures[part] = columns
        for name, _ in want:
            assert f"Epoch[0] {part}-{name}=" in caplog.text
    for where, got in figures.items():
        assert [name for name, _ in got] == [name for name, _ in want], where
        for (_, value), (_, share) in zip(got, want):
            if share is not None:
                assert value == pytest.approx(share), where
    if type(metric) not in (OwnGlobal, OwnGlobalPairs):  # local and global are one in an evaluation
        assert seen == [figures["Validation"]]


def test_a_mean_of_means(data):
    it = mx.io.NDArrayIter(data[0], data[1].reshape(-1, 1), SIZE)
    made = module(OwnGetOfAMean(), logging)
    made.bind(it.provide_data, it.provide_label, for_training=False)
    made.init_params(mx.init.Normal(1))
    errors = ((made.predict(it).asnumpy() - data[1].reshape(-1, 1)) ** 2).mean()
    assert made.score(it, OwnGetOfAMean()) == [("half", pytest.approx(errors / 2))]


def test_global_figures_of_own_gets():
    """Local sums restart, global ones go on; an own get is asked about both."""
    metric = OwnGet()
    right, wrong = ([mx.nd.array([1])], [mx.nd.array([[0.1, 0.9]])]), None
    wrong = [mx.nd.array([0])], right[1]
    metric.update(*right)
    metric.reset_local()
    metric.update(*wrong)
    assert metric.get() == ("error", 1.0) and metric.get_global() == ("error", 0.5)
    assert metric.get_name_value() == [("error", 1.0)]
    assert metric.get_global_name_value() == [("error", 0.5)]
    assert (metric.num_inst, metric.global_num_inst) == (1, 2)  # both are as they were
    both = Both(["acc"])
    for pair in (right, wrong):
        both.reset_local()
        both.update(*pair)
    assert both.get_global_name_value() == [("my-accuracy", 1.0)]
    assert both.get_name_value() == [("my-accuracy", 0.0)]
