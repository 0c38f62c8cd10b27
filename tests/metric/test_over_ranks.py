"""Every metric over several ranks: the figure of one process that saw all batches."""

import json
import math
import re

import numpy as np
import pytest

import cynet as mx
from cynet.metric.base import METRICS

SIZES = [(5, 3), (4,), (), (6, 1, 2)]  # rows of the batches of each rank; one has none


def probabilities(rng, rows, classes=3):
    out = rng.uniform(0.05, 1, (rows, classes))
    return out / out.sum(axis=1, keepdims=True)


def classes(rng, rows):
    return rng.integers(0, 3, rows), probabilities(rng, rows)


def two(rng, rows):
    return rng.integers(0, 2, rows), probabilities(rng, rows, 2)


def numbers(rng, rows):
    label = rng.normal(3, 1, (rows, 2))
    return label, label + rng.normal(0, 1, (rows, 2))


def pictures(rng, rows):
    return rng.integers(0, 3, (rows, 4)), rng.uniform(size=(rows, 3, 4))


def texts(rng, rows):
    return rng.integers(0, 2, (rows, 9)), rng.integers(0, 2, (rows, 8))


def boxes(rng, rows):
    corner = rng.uniform(size=(rows, 4, 2))
    box = np.concatenate([rng.integers(0, 2, (rows, 4, 1)), corner, corner + 0.5], axis=2)
    found = np.concatenate([box[..., :1], rng.uniform(size=(rows, 4, 1)), box[..., 1:]], axis=2)
    found[..., 2:] += rng.normal(scale=0.05, size=(rows, 4, 4))
    return box, found


def both(label, pred):
    return float(np.abs(label - pred).sum()), label.size


# name: what draws (labels, predictions) of a batch, and the settings to try
METRICS_AND_DATA = {
    "Accuracy": (classes, [{}]),
    "TopKAccuracy": (classes, [{"top_k": 2}]),
    "F1": (two, [{}, {"average": "micro"}]),
    "MCC": (two, [{}, {"average": "micro"}]),
    "PCC": (classes, [{}]),
    "ConfusionMatrix": (classes, [{}]),
    "Precision": (classes, [{"average": each} for each in ("macro", "micro", "weighted")]),
    "Recall": (classes, [{"average": each} for each in ("macro", "micro", "weighted")]),
    "AUC": (two, [{}]),
    "MeanIoU": (pictures, [{}, {"ignore_label": 1}]),
    "CalibrationError": (classes, [{}, {"bins": 3}]),
    "R2": (numbers, [{}]),
    "BLEU": (texts, [{}, {"longest": 2}]),
    "WordErrorRate": (texts, [{}]),
    "MeanAveragePrecision": (boxes, [{}, {"rule": "coco"}]),
    "CrossEntropy": (classes, [{}, {"eps": 0.1}]),
    "NegativeLogLikelihood": (classes, [{}]),
    "Perplexity": (classes, [{"ignore_label": None}, {"ignore_label": 1}]),
    "MAE": (numbers, [{}]),
    "MSE": (numbers, [{}]),
    "RMSE": (numbers, [{}]),
    "PearsonCorrelation": (numbers, [{}, {"average": "micro"}]),
    "Loss": (numbers, [{}]),
    "Torch": (numbers, [{}]),
    "Caffe": (numbers, [{}]),
    "CustomMetric": (numbers, [{"feval": both}]),
    "CompositeEvalMetric": (classes, [{"metrics": ["acc", "ce"]}]),
}
CASES = [(name, each) for name, (_, settings) in METRICS_AND_DATA.items() for each in settings]
# without addresses of functions: processes share the tests out by their names
NAMES = [re.sub(r"<function (\w+) at \w+>", r"\1", f"{name}-{each}") for name, each in CASES]


def test_all_metrics_are_tried():
    found = {k.__name__: k for k in METRICS.table.values() if k.__module__.startswith("cynet.")}
    own = {name for name, k in found.items() if getattr(mx.metric, name, None) is k}
    assert own == set(METRICS_AND_DATA)


def of_each(metric):
    """A metric, or those that a composite one is of."""
    return getattr(metric, "metrics", [metric])


def filled(name, settings, batches):
    metric = getattr(mx.metric, name)(**settings)
    for label, pred in batches:
        if len(label) > 1 or name != "PearsonCorrelation":
            metric.update([mx.nd.array(label)], [mx.nd.array(pred)])
    return metric


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("name, settings", CASES, ids=NAMES)
def test_over_ranks(rng, name, settings, ranks):
    draw, _ = METRICS_AND_DATA[name]
    batches = [[draw(rng, rows) for rows in sizes] for sizes in SIZES[:ranks]]
    wanted = filled(name, settings, [each for row in batches for each in row])
    found = [filled(name, settings, row) for row in batches]
    for parts in zip(*map(of_each, found)):
        rows = json.loads(json.dumps([each._state_of_this_rank() for each in parts]))
        for each in parts:
            each._merge_rank_states(rows)
    value = wanted.get_global_name_value()
    assert all(math.isfinite(each) for _, each in value)
    for each in found:
        np.testing.assert_equal([n for n, _ in each.get_global_name_value()], [n for n, _ in value])
        for figures in (each.get_global_name_value(), each.get_name_value()):
            np.testing.assert_allclose([v for _, v in figures], [v for _, v in value], rtol=1e-6)


@pytest.mark.parametrize("name, settings", CASES, ids=NAMES)
def test_what_no_rank_has_seen(name, settings):
    metric = filled(name, settings, [])
    for each in of_each(metric):
        each._merge_rank_states(json.loads(json.dumps([each._state_of_this_rank()] * 2)))
    assert all(math.isnan(value) for _, value in metric.get_global_name_value())


def test_micro_pearson_far_from_zero(rng):
    """Values of a large mean, whose squares would cancel."""
    label = 1e6 + rng.normal(0, 1, 40)
    pred = label + rng.normal(0, 1, 40)
    rows = slice(0, 13), slice(13, 40)
    found = [mx.metric.PearsonCorrelation(average="micro") for _ in rows]
    for metric, part in zip(found, rows):
        metric.update([label[part]], [pred[part]])
    found[0]._merge_rank_states([each._state_of_this_rank() for each in found])
    assert abs(found[0].get()[1] - np.corrcoef(label, pred)[0, 1]) < 1e-6
