"""Metrics: values of MXNet 1.9.1, creation by name, local and global means, what bad input gets."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from cynet.base.errors import ArgumentError, ArgumentTypeError, NotFoundError, ShapeError
from tests.fixtures import metrics as unusual
from tests.fixtures import training as given

EXPECTED = json.loads(Path(given.__file__).with_name("training.json").read_text())["metric"]
UNUSUAL = json.loads(Path(unusual.__file__).with_name("metrics.json").read_text())


@pytest.mark.parametrize("name", unusual.CASES)
def test_unusual_shapes_and_labels_as_mxnet(name):
    """Several pairs in one update, more columns, labels below 0, shapes that are broadcast."""
    rows = unusual.run(mx, *unusual.CASES[name])
    np.testing.assert_allclose(rows, UNUSUAL["cases"][name], rtol=1e-5, atol=1e-7)


def test_score_of_the_tutorial():
    found, expected = dict(unusual.score(mx)), dict(UNUSUAL["score"])
    assert found.keys() == expected.keys() == {"mse", "accuracy"}
    np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-5)


@pytest.mark.parametrize("name", given.METRICS)
@pytest.mark.parametrize("as_ndarray", [True, False])
def test_values_are_those_of_mxnet(name, as_ndarray):
    metric = mx.metric.create(name.split()[0], **given.METRICS[name])
    assert metric.name == EXPECTED[name]["name"]
    wrap = mx.nd.array if as_ndarray else (lambda x: x)
    for i, (label, pred) in enumerate(given.metric_batches(name)):
        metric.update([wrap(label)], [wrap(pred)])
        local, overall = EXPECTED[name]["rows"][i]
        np.testing.assert_allclose(metric.get()[1], local, rtol=2e-6)
        if name != "pearsonr micro":  # MXNet's global value is 0 there, whatever the data
            np.testing.assert_allclose(metric.get_global()[1], overall, rtol=2e-6)
            if i == 1:
                metric.reset_local()
                assert np.isnan(metric.get()[1])


@pytest.mark.parametrize(
    "name, expected",
    [
        ("acc", "accuracy"),
        ("Accuracy", "accuracy"),
        ("ce", "cross-entropy"),
        ("cross-entropy", "cross-entropy"),
        ("nll_loss", "nll-loss"),
        ("top_k_acc", None),
        ("f1", "f1"),
        ("mcc", "mcc"),
        ("mae", "mae"),
        ("mse", "mse"),
        ("rmse", "rmse"),
        ("pearsonr", "pearsonr"),
        ("loss", "loss"),
        ("torch", "torch"),
        ("caffe", "caffe"),
        ("composite", "composite"),
        ("pcc", "pcc"),
        ("negativeloglikelihood", "nll-loss"),
    ],
)
def test_names(name, expected):
    options = {"top_k": 3} if "top_k" in name else {}
    assert mx.metric.create(name, **options).name == (expected or "top_k_accuracy_3")


def test_create_takes_lists_functions_configurations():
    assert mx.metric.create(["acc", "mse"]).get()[0] == ["accuracy", "mse"]
    assert mx.metric.create(lambda label, pred: 1.0).name == "custom(<lambda>)"
    accuracy = mx.metric.create("acc", axis=2)
    assert mx.metric.create(accuracy) is accuracy
    config = accuracy.get_config()
    assert config == {
        "axis": 2,
        "metric": "Accuracy",
        "name": "accuracy",
        "output_names": None,
        "label_names": None,
    }
    assert mx.metric.create(config).axis == 2
    assert mx.metric.create(json.dumps(config)).axis == 2
    top = mx.metric.create(mx.metric.TopKAccuracy(3).get_config())
    assert top.name == "top_k_accuracy_3"
    nested = mx.metric.create(mx.metric.create(["acc", "f1"]).get_config())
    assert [each.name for each in nested.metrics] == ["accuracy", "f1"]


def test_create_refuses():
    with pytest.raises(NotFoundError, match="accuracy"):
        mx.metric.create("acuracy")
    with pytest.raises(
        ArgumentTypeError, match="a metric is created from a name, a function, a list or"
    ):
        mx.metric.create(3)
    with pytest.raises(ArgumentError, match="top_k"):
        mx.metric.create("top_k_accuracy")
    with pytest.raises(ArgumentError, match="JSON"):
        mx.metric.create("{nonsense")


def test_composite_updates_all_and_resets():
    label, pred = mx.nd.array([0, 1]), mx.nd.array([[0.3, 0.7], [0.2, 0.8]])
    metric = mx.metric.create(["acc", "ce"])
    metric.update([label], [pred])
    names, values = metric.get()
    assert names == ["accuracy", "cross-entropy"]
    np.testing.assert_allclose(values, [0.5, -np.log([0.3, 0.8]).mean()], rtol=1e-5)
    metric.reset_local()
    assert np.isnan(metric.get()[1]).all()
    assert metric.get_global_name_value()[0] == ("accuracy", 0.5)
    metric.reset()
    assert np.isnan(metric.get_global()[1]).all()
    assert metric.get_metric(0).name == "accuracy"
    with pytest.raises(ArgumentError, match="out of range"):
        metric.get_metric(5)


def test_a_metric_that_defines_its_own_pairs():
    """Without global mean its pairs are asked for, however `get` returns them."""

    class Two(mx.metric.EvalMetric):
        def update(self, labels, preds):
            pass

        def get(self):
            return zip(("a", 1.0), ("b", 2.0))  # two tuples

        def get_name_value(self):
            return list(zip(*self.get()))

    assert Two("two").get_global_name_value() == [("a", 1.0), ("b", 2.0)]


def test_update_dict_picks_by_name():
    label, pred = np.array([0, 1]), np.array([[0.3, 0.7], [0.2, 0.8]])
    metric = mx.metric.create("acc", output_names=["a"], label_names=["l"])
    metric.update_dict({"l": label, "z": label}, {"a": pred, "b": pred})
    assert metric.get() == ("accuracy", 0.5)
    assert str(metric) == "EvalMetric: {'accuracy': 0.5}"
    with pytest.raises(ArgumentError, match="'l'"):
        metric.update_dict({"z": label}, {"a": pred})


def test_accuracy_shapes():
    accuracy = mx.metric.Accuracy(axis=1)
    pred = np.zeros((2, 3, 4))
    pred[:, 1] = 1
    accuracy.update([np.ones((2, 4))], [pred])
    accuracy.update([np.array([1, 0])], [np.array([1, 1])])  # classes already
    assert accuracy.get() == ("accuracy", 0.9)
    accuracy.update(np.array([1]), np.array([1]))  # arrays instead of lists


def test_custom_metric():
    metric = mx.metric.CustomMetric(lambda label, pred: (3.0, 2))
    metric.update([np.ones(2)], [np.ones(2)])
    assert metric.get()[1] == 1.5 and metric.num_inst == 2
    with pytest.raises(
        ShapeError, match="not match shape of predictions 2; output_names and label_names"
    ):
        metric.update([np.ones(2)], [np.ones(2), np.ones(2)])
    loose = mx.metric.np(lambda label, pred: 1.0, name="loose", allow_extra_outputs=True)
    loose.update([mx.nd.ones(2)], [mx.nd.ones(2), mx.nd.ones(2)])
    assert loose.get() == ("loose", 1.0)
    with pytest.raises(NotImplementedError, match="CustomMetric cannot be serialized"):
        loose.get_config()


def test_register_a_metric():
    @mx.metric.register
    @mx.metric.alias("halves")
    class Half(mx.metric.EvalMetric):
        """Always a half."""

        def __init__(self, name="half", **kwargs):
            super().__init__(name, **kwargs)

        def update(self, labels, preds):
            self.sum_metric += 0.5
            self.num_inst += 1

    for name in ("half", "Half", "halves"):
        metric = mx.metric.create(name)
        metric.update([], [])
        assert metric.get() == metric.get_global() == ("half", 0.5)
    with pytest.raises(ArgumentTypeError, match="register takes a subclass of EvalMetric, got"):
        mx.metric.register(int)


@pytest.mark.parametrize("name", ["acc", "ce", "mse", "f1", "pearsonr", "nll_loss", "mcc", "pcc"])
def test_shapes_that_do_not_fit(name):
    with pytest.raises(ShapeError, match="predictions"):
        mx.metric.create(name).update([mx.nd.ones(3)], [mx.nd.ones((4, 2))])
    with pytest.raises(ShapeError, match="2 does not match shape of predictions 1"):
        mx.metric.create(name).update([mx.nd.ones(3)] * 2, [mx.nd.ones((3, 2))])


def test_values_that_do_not_fit():
    with pytest.raises(ShapeError, match="2 classes"):
        mx.metric.CrossEntropy().update([np.array([0, 2])], [np.ones((2, 2)) / 2])
    with pytest.raises(ShapeError, match="2 classes, 0 to 1"):
        mx.metric.CrossEntropy().update([np.array([0, -3])], [np.ones((2, 2)) / 2])
    with pytest.raises(ShapeError, match="2 classes"):
        mx.metric.Perplexity(None).update([np.array([0, 2])], [np.ones((2, 2)) / 2])
    with pytest.raises(ArgumentError, match="two classes"):
        mx.metric.F1().update([np.array([0, 1, 2])], [np.eye(3)])
    with pytest.raises(ShapeError, match=r"labels of shape \(3,\).*predictions of shape \(4, 2\)"):
        mx.metric.MSE().update([np.ones(3)], [np.ones((4, 2))])
    with pytest.raises(ShapeError, match="has the iterator labels"):
        mx.metric.Accuracy().update([], [np.ones((4, 2))])
    with pytest.raises(ShapeError, match="axis"):
        mx.metric.Accuracy(axis=3).update([np.ones(2)], [np.ones((2, 2))])
    with pytest.raises(ShapeError, match="top 3"):
        mx.metric.TopKAccuracy(3).update([np.ones(2)], [np.ones((2, 2))])
    with pytest.raises(NotImplementedError, match="EvalMetric defines no update"):
        mx.metric.EvalMetric("bare").update([], [])


def test_pearson_forgets_its_entries():
    pearson = mx.metric.PearsonCorrelation(average="micro")
    pearson.update([mx.nd.array([1, 2, 4, 3])], [mx.nd.array([1, 3, 3, 5])])
    pearson.reset_micro()
    pearson.update([mx.nd.array([1, 2, 3])], [mx.nd.array([3, 2, 1])])
    assert pearson.get()[1] == pytest.approx(-1)


def test_a_score_of_one_half_is_the_other_class():
    """Of one prediction a row, above 0.5 is class 1."""
    f1 = mx.metric.F1()
    f1.update([np.array([1, 0])], [np.array([0.5, 0.5])])
    assert f1.get() == ("f1", 0.0)
    f1.reset()
    f1.update([np.array([1, 0])], [np.array([np.nextafter(0.5, 1), 0.5])])
    assert f1.get() == ("f1", 1.0)


@pytest.mark.parametrize("one_of", ["predictions", "labels"])
def test_pcc_of_a_class_that_only_one_side_has(one_of):
    """As NumPy's correlation of the one-hot classes (R_K of Gorodkin)."""
    few, many = np.array([0, 1, 1, 0, 1]), np.array([0, 1, 2, 3, 1])
    label, pred = (few, many) if one_of == "predictions" else (many, few)
    pcc = mx.metric.PCC()
    pcc.update([label], [np.eye(4)[pred]])
    x, y = np.eye(4)[pred], np.eye(4)[label]
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    want = np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y))
    assert pcc.get()[1] == pytest.approx(want, rel=1e-12)
