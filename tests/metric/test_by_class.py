"""Precision, recall, confusion matrix, AUC: figures of scikit-learn, whatever the batches are."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures import sklearn_metrics as given

EXPECTED = json.loads(Path(given.__file__).with_name("sklearn_metrics.json").read_text())


def fed(metric, labels, scores, cuts=(17, 17, 90)):
    """A metric that has had the rows, in parts of which one is empty."""
    for label, score in zip(np.split(labels, cuts), np.split(scores, cuts)):
        metric.update([mx.nd.array(label)], [mx.nd.array(score)])
    return metric


@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@pytest.mark.parametrize("name", ["precision", "recall"])
def test_averages(name, average):
    metric = fed(mx.metric.create(name, average=average), *given.labels_and_scores())
    assert metric.get()[1] == pytest.approx(EXPECTED[f"{name} {average}"], rel=1e-12)
    assert metric.get_global() == metric.get()


@pytest.mark.parametrize("name", ["precision", "recall"])
def test_figures_by_class(name):
    metric = fed(mx.metric.create(name), *given.labels_and_scores())
    np.testing.assert_allclose(metric.by_class(), EXPECTED[f"{name} by class"], rtol=1e-12)


def test_top_k_by_class():
    labels, scores = given.labels_and_scores()
    metric = fed(mx.metric.TopKAccuracy(2), labels, scores)
    np.testing.assert_allclose(metric.by_class(), EXPECTED["top 2 by class"], rtol=1e-12)
    assert metric.get()[1] == pytest.approx(EXPECTED["top 2"], rel=1e-12)
    metric.reset_local()
    np.testing.assert_allclose(metric.by_class(), EXPECTED["top 2 by class"], rtol=1e-12)
    metric.reset()
    assert metric.by_class().size == 0


def test_top_k_by_class_of_several_processes_and_of_labels_that_are_no_class():
    labels, scores = given.labels_and_scores()
    labels = np.where(np.arange(len(labels)) % 9 == 0, -1, labels)
    labels[::10] = 10**6  # of no class: misses, in no class's figure
    whole = fed(mx.metric.TopKAccuracy(2), labels, scores)
    kept = (labels >= 0) & (labels < 4)
    of_classes = fed(mx.metric.TopKAccuracy(2), labels[kept], scores[kept])
    assert whole.by_class().tolist() == of_classes.by_class().tolist()
    assert whole.get()[1] < of_classes.get()[1]
    shares = [fed(mx.metric.TopKAccuracy(2), labels[i::2], scores[i::2]) for i in range(2)]
    shares[0]._merge_rank_states(
        json.loads(json.dumps([each._state_of_this_rank() for each in shares]))
    )
    assert shares[0].by_class().tolist() == whole.by_class().tolist()
    assert shares[0].get()[1] == pytest.approx(whole.get()[1], rel=1e-12)


@pytest.mark.parametrize("name", ["precision", "recall", "auc", "confusion_matrix", "top_k_acc"])
def test_callbacks_know_that_large_values_are_good(name):
    more = {"top_k": 2} if name == "top_k_acc" else {}
    found = mx.metric.create(name, **more).name
    assert mx.callback.EarlyStopping(f"Validation-{found}")._sign == 1


def test_confusion_matrix_of_scores_and_of_classes():
    labels, scores = given.labels_and_scores()
    for preds in (scores, scores.argmax(1)):
        metric = fed(mx.metric.ConfusionMatrix(), labels, preds)
        assert metric.matrix.tolist() == EXPECTED["confusion"]
        assert metric.get()[1] == np.mean(labels == scores.argmax(1))


@pytest.mark.parametrize("columns", [1, 2])
def test_auc_with_equal_scores(columns):
    labels, scores = given.binary()
    if columns == 2:
        scores = np.stack([-scores, scores], 1)
    assert fed(mx.metric.AUC(), labels, scores).get()[1] == pytest.approx(
        EXPECTED["auc"], rel=1e-12
    )


@pytest.mark.parametrize("name", ["precision", "recall", "confusionmatrix", "auc"])
def test_the_local_figure_begins_anew_and_the_global_goes_on(name):
    labels, scores = given.binary()
    classes = labels if name == "auc" else (scores > 0.5).astype("float32")
    preds = scores if name == "auc" else classes
    whole = fed(mx.metric.create(name), labels, preds)
    parts = fed(mx.metric.create(name), labels[:100], preds[:100])
    parts.reset_local()
    assert math.isnan(parts.get()[1])
    fed(parts, labels[100:], preds[100:], (50,))
    last = fed(mx.metric.create(name), labels[100:], preds[100:], (50,))
    assert parts.get() == last.get() and parts.get_global() == whole.get()
    parts.reset()
    assert math.isnan(parts.get()[1]) and math.isnan(parts.get_global()[1])


@pytest.mark.parametrize("name", ["precision", "recall", "confusionmatrix", "auc"])
def test_the_figure_of_several_processes_is_that_of_all_rows(name):
    labels, scores = given.binary()
    preds = scores if name == "auc" else (scores > 0.5).astype("float32")
    whole = fed(mx.metric.create(name), labels, preds)
    shares = [fed(mx.metric.create(name), labels[i::2], preds[i::2]) for i in range(2)]
    rows = json.loads(json.dumps([each._state_of_this_rank() for each in shares]))
    shares[0]._merge_rank_states(rows)
    assert shares[0].get()[1] == pytest.approx(whole.get()[1], rel=1e-12)
    assert shares[0].get_global()[1] == pytest.approx(whole.get()[1], rel=1e-12)


@pytest.mark.parametrize(
    "name, label, pred, error",
    [
        ("precision", [0, 1], [0], mx.errors.ShapeError),
        ("recall", [0, -1], [0, 1], mx.errors.ArgumentError),
        ("confusionmatrix", [[0]], np.zeros((1, 2, 3)), mx.errors.ShapeError),
        ("auc", [0, 1], [0.5], mx.errors.ShapeError),
        ("auc", [0, 2], [0.5, 0.5], mx.errors.ArgumentError),
    ],
)
def test_bad_labels_and_predictions(name, label, pred, error):
    metric = mx.metric.create(name)
    with pytest.raises(error, match=metric.name):
        metric.update([np.array(label)], [np.array(pred)])


def test_bad_average_and_one_class():
    with pytest.raises(mx.errors.ArgumentError, match="average"):
        mx.metric.Precision(average="mean")
    auc = mx.metric.AUC()
    auc.update([np.ones(3)], [np.arange(3)])
    assert math.isnan(auc.get()[1])
