"""Mean average precision: what pycocotools counts, and VOC's two rules by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

import cynet as mx
from tests.fixtures import coco_precision as given

EXPECTED = json.loads(Path(given.__file__).with_suffix(".json").read_text())


def padded(rows):
    """One array of rows of each image, filled up with rows of the class -1."""
    out = np.full((len(rows), max(map(len, rows)), rows[0].shape[1]), -1.0)
    for into, each in zip(out, rows):
        into[: len(each)] = each
    return out


def fed(metric, samples, cuts=(3, 3, 7)):
    boxes, found = (padded(each) for each in zip(*samples))
    for label, pred in zip(np.split(boxes, cuts), np.split(found, cuts)):
        metric.update([label], [pred])
    return metric


@pytest.mark.parametrize("name", ["images", "crowd"])
def test_coco_is_pycocotools(name):
    samples, wanted = getattr(given, name)(), EXPECTED[name]
    metric = fed(mx.metric.MeanAveragePrecision(rule="coco"), samples)
    assert metric.get() == ("mAP", pytest.approx(wanted["AP"], abs=1e-9))
    by_class = np.array(wanted["by class"], float)
    names = [str(each) for each in range(given.CLASSES)]
    metric = fed(mx.metric.MeanAveragePrecision(names, rule="coco"), samples)
    np.testing.assert_allclose(metric.by_class(), by_class, atol=1e-9)
    metric = fed(mx.metric.MeanAveragePrecision(overlap=0.5, rule="coco"), samples)
    assert metric.get()[1] == pytest.approx(wanted["AP50"], abs=1e-9)


BOXES = [[0, 0, 0, 0.5, 0.5], [0, 0.5, 0.5, 1, 1], [1, 0, 0, 1, 1], [-1] * 5]
ROWS = [
    [0, 0.9, 0, 0, 0.5, 0.5],
    [0, 0.8, 0, 0.02, 0.5, 0.5],  # the same box again
    [0, 0.7, 0.5, 0.5, 1, 0.95],
    [1, 0.6, 0.7, 0.7, 1, 1],
    [-1, 0.5, 0, 0, 1, 1],
]


def test_two_right_one_wrong_one_missed_one_found_twice():
    metric = mx.metric.MeanAveragePrecision(("a", "b", "c"))
    metric.update([mx.nd.array([BOXES])], [mx.nd.zeros(3), mx.nd.array([ROWS])])  # the last counts
    names, values = metric.get()
    assert names == ["mAP", "AP-a", "AP-b", "AP-c"]
    np.testing.assert_allclose(values, [5 / 12, (1 + 2 / 3) / 2, 0, np.nan])
    metric = mx.metric.MeanAveragePrecision(rule="voc07")
    metric.update([mx.nd.array([BOXES])], [mx.nd.array([ROWS])])
    eleven = (6 * 1 + 5 * 2 / 3) / 11  # recalls up to 0.5, and those above
    np.testing.assert_allclose(metric.by_class(), [eleven, 0])


def test_a_taken_box_leaves_the_next_one_to_coco_alone():
    """The second one overlaps the first box best, which is taken, and the other one enough."""
    boxes = [[[0, 0, 0, 10, 10], [0, 0, 3, 10, 13]]]
    rows = [[[0, 0.9, 0, 0, 10, 10], [0, 0.8, 0, 1, 10, 11]]]
    for rule, wanted in (("voc", 0.5), ("coco", 1.0)):
        metric = mx.metric.MeanAveragePrecision(overlap=0.5, rule=rule)
        metric.update(mx.nd.array(boxes), mx.nd.array(rows))
        assert metric.get()[1] == pytest.approx(wanted)


def test_begins_anew_and_is_made_again():
    metric = mx.metric.create("map", class_names=["a"], overlap=[0.5, 0.75])
    assert np.isnan(metric.get()[1]).all()
    metric.update([mx.nd.array([BOXES])], [mx.nd.array([ROWS])])
    again = mx.metric.create(json.dumps(metric.get_config()))
    again.update([mx.nd.array([BOXES])], [mx.nd.array([ROWS])])
    assert again.get() == metric.get() and len(metric.get()[1]) == 2
    metric.reset()
    assert np.isnan(metric.get()[1]).all()


def test_what_is_refused():
    with pytest.raises(ValueError, match="rule must be one of .*'coco'.*got 'pascal'"):
        mx.metric.MeanAveragePrecision(rule="pascal")
    for overlap in (0, 1.5, [], [[0.5]], np.nan):
        with pytest.raises(ValueError, match="overlap must be above 0 and at most 1, got"):
            mx.metric.MeanAveragePrecision(overlap=overlap)
    metric = mx.metric.MeanAveragePrecision()
    bad = [((2, 3, 5), (1, 3, 6)), ((1, 3, 4), (1, 3, 6)), ((1, 3, 5), (1, 3, 5)), ((3, 5), (3, 6))]
    for label, pred in bad:
        with pytest.raises(ValueError, match=r"expected labels \(N, boxes, 5 or more\)"):
            metric.update([np.zeros(label)], [np.zeros(pred)])
