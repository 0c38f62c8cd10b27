"""R2, log loss, IoU: figures of scikit-learn; BLEU of sacrebleu; calibration and word error rate
beside slow counts."""

import functools
import json
import math
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures import sacrebleu_scores
from tests.fixtures import sklearn_metrics as given

EXPECTED = json.loads(Path(given.__file__).with_suffix(".json").read_text())
TEXTS = json.loads(Path(sacrebleu_scores.__file__).with_suffix(".json").read_text())
CUTS = (17, 17, 90)


def fed(metric, labels, preds):
    """A metric that has had the rows, in parts of which one is empty."""
    for label, pred in zip(np.split(labels, CUTS), np.split(preds, CUTS)):
        metric.update([label], [pred])
    return metric


def test_r2():
    labels, preds = given.numbers()
    metric = fed(mx.metric.create("r2"), labels, preds)
    assert metric.get() == ("r2", pytest.approx(EXPECTED["r2"], rel=1e-12))
    one = labels[:, 1], preds[:, 1]
    assert fed(mx.metric.R2(), *one).get()[1] == pytest.approx(EXPECTED["r2 of a column"])
    column = fed(mx.metric.R2(), one[0], one[1][:, None])
    assert column.get()[1] == pytest.approx(EXPECTED["r2 of a column"])
    metric.reset_local()
    assert math.isnan(metric.get()[1])
    assert metric.get_global()[1] == pytest.approx(EXPECTED["r2"])
    same = mx.metric.R2()
    same.update([np.ones(4)], [np.zeros(4)])
    assert math.isnan(same.get()[1])


def test_log_loss():
    labels, scores = given.labels_and_scores()
    shares = np.exp(scores.astype("float64"))
    shares /= shares.sum(1, keepdims=True)
    found = fed(mx.metric.create("log_loss"), labels, shares).get()[1]
    assert found == pytest.approx(EXPECTED["log loss"], rel=1e-6)


def test_iou():
    labels, scores = given.labels_and_scores()
    wanted = np.array(EXPECTED["iou by class"])
    metric = fed(mx.metric.create("miou"), labels, scores)
    np.testing.assert_allclose(metric.by_class(), wanted, rtol=1e-12)
    assert metric.get()[1] == pytest.approx(wanted.mean(), rel=1e-12)
    # as pictures of 4 x 5: scores have the classes in axis 1
    pictures, maps = labels.reshape(10, 4, 5), scores.reshape(10, 4, 5, 4).transpose(0, 3, 1, 2)
    metric = mx.metric.MeanIoU()
    metric.update(mx.nd.array(pictures), mx.nd.array(maps))
    np.testing.assert_allclose(metric.by_class(), wanted, rtol=1e-12)
    marked = np.where(np.arange(labels.size).reshape(pictures.shape) % 3 == 0, 255, pictures)
    metric = mx.metric.MeanIoU(ignore_label=255)
    metric.update([marked], [maps])
    left = marked.ravel() != 255
    kept = fed(mx.metric.MeanIoU(), labels[left], scores[left])
    assert metric.get() == kept.get() and metric.by_class().size == 4


@pytest.mark.parametrize("bins", [1, 7, 10])
def test_calibration(bins):
    labels, scores = given.labels_and_scores()
    shares = np.exp(scores.astype("float64"))
    shares /= shares.sum(1, keepdims=True)
    shares[3] = [0.0, 1.0, 0.0, 0.0]
    groups = {}
    for label, row in zip(labels, shares):
        place = next(b for b in range(bins) if row.max() <= (b + 1) / bins + 1e-15)
        groups.setdefault(place, []).append((row.max(), row.argmax() == label))
    wanted = 0.0
    for rows in groups.values():
        sure, right = np.array(rows, float).T
        wanted += abs(sure.mean() - right.mean()) * len(rows) / len(labels)
    found = fed(mx.metric.create("ece", bins=bins), labels, shares).get()[1]
    assert found == pytest.approx(wanted, rel=1e-12)


def test_bleu():
    references, found = sacrebleu_scores.texts()
    for longest in (1, 2, 4):
        metric = mx.metric.BLEU(longest)
        metric.update(references[:20], found[:20])
        metric.update(references[20:], found[20:])
        assert metric.get()[1] == pytest.approx(TEXTS[str(longest)], rel=1e-9)
    metric = mx.metric.create("bleu")
    metric.update(references[:20], found[:20])
    assert metric.get()[1] == pytest.approx(TEXTS["first 20"], rel=1e-9)
    numbers = {word: i for i, word in enumerate(sacrebleu_scores.WORDS)}
    rows = [
        np.array([[numbers[w] for w in each.split()] + [-1] * (40 - len(each.split()))])
        for each in (references[0], found[0])
    ]
    one, other = mx.metric.BLEU(2), mx.metric.BLEU(2)
    one.update([mx.nd.array(rows[0])], [mx.nd.array(rows[1])])
    other.update(references[:1], found[:1])
    assert one.get() == other.get()
    none = mx.metric.BLEU()
    none.update(["a b c d e"], ["v w x y z"])
    assert none.get()[1] == 0
    empty = mx.metric.BLEU()
    empty.update(["a b c d e"], [""])
    assert empty.get()[1] == 0


def slow_edits(one, other):
    @functools.cache
    def left(i, j):
        if i == len(one) or j == len(other):
            return len(one) - i + len(other) - j
        if one[i] == other[j]:
            return left(i + 1, j + 1)
        return 1 + min(left(i + 1, j), left(i, j + 1), left(i + 1, j + 1))

    return left(0, 0)


def test_word_error_rate():
    references, found = sacrebleu_scores.texts()
    edits = sum(slow_edits(r.split(), f.split()) for r, f in zip(references, found))
    words = sum(len(each.split()) for each in references)
    metric = mx.metric.create("wer")
    metric.update(references[:7], found[:7])
    metric.update(references[7:], found[7:])
    assert metric.get()[1] == pytest.approx(edits / words, rel=1e-12)
    rows = mx.metric.WordErrorRate()
    rows.update(mx.nd.array([[1, 2, 3, -1], [4, -1, -1, -1]]), mx.nd.array([[1, 3, -1], [4, 4, 5]]))
    assert rows.get()[1] == pytest.approx(3 / 4)


def test_what_is_refused():
    for bins in (0, 2.0, True):
        with pytest.raises(ValueError, match="bins must be a positive int, got"):
            mx.metric.CalibrationError(bins)
        with pytest.raises(ValueError, match="longest must be a positive int, got"):
            mx.metric.BLEU(bins)
    with pytest.raises(ValueError, match="probabilities are from 0 to 1"):
        mx.metric.CalibrationError().update([np.zeros(1)], [np.array([[3.0, 1.0]])])
    with pytest.raises(ValueError, match=r"expected labels \(N,\) and probabilities"):
        mx.metric.CalibrationError().update([np.zeros(2)], [np.ones((3, 2))])
    with pytest.raises(ValueError, match=r"labels of shape \(2,\) do not fit predictions of shape"):
        mx.metric.R2().update([np.zeros(2)], [np.zeros(3)])
    with pytest.raises(ValueError, match="labels have 3 columns, 2 before"):
        metric = mx.metric.R2()
        metric.update([np.zeros((4, 2))], [np.zeros((4, 2))])
        metric.update([np.zeros((4, 3))], [np.zeros((4, 3))])
    with pytest.raises(ValueError, match=r"mean_iou: labels of shape \(1, 2, 2\) do not fit"):
        mx.metric.MeanIoU().update([np.zeros((1, 2, 2))], [np.zeros((1, 2, 3))])
    for metric in (mx.metric.BLEU(), mx.metric.WordErrorRate()):
        with pytest.raises(ValueError, match="2 reference texts, 1 predicted"):
            metric.update(["a", "b"], ["a"])
        with pytest.raises(TypeError, match="expected a list of texts, got 'a b'"):
            metric.update("a b", ["a b"])
        with pytest.raises(TypeError, match="expected a str or an array, got 3"):
            metric.update(["a b"], [3])
        with pytest.raises(ValueError, match=r"expected texts of shape \(N, length\), got \(3,\)"):
            metric.update([np.zeros(3)], [np.zeros(3)])
