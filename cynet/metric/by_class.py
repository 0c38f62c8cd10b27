"""Metrics per class: confusion matrix, precision, recall, IoU, area under the ROC curve."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, ShapeError
from ..base.guard import guarded
from .base import EvalMetric, alias, check_label_shapes, register, to_numpy

if TYPE_CHECKING:
    from ..typing import Names, NumpyArray

__all__ = ["AUC", "ConfusionMatrix", "MeanIoU", "Precision", "Recall"]

_AVERAGES = ("macro", "micro", "weighted")  # ways to average over classes


def _add_matrices(first, second):
    """Add two square matrices; the smaller one is padded with zeros."""
    out = np.zeros((max(len(first), len(second)),) * 2, np.int64)
    out[: len(first), : len(first)] += first
    out[: len(second), : len(second)] += second
    return out


@guarded
class _ConfusionMetric(EvalMetric):  # base of metrics of a confusion matrix
    """Base of metrics of the confusion matrix: rows are labels, columns are predictions."""

    def reset(self):
        super().reset()
        self._local = np.zeros((0, 0), np.int64)
        self._global = np.zeros((0, 0), np.int64)

    def reset_local(self):
        super().reset_local()
        self._local = np.zeros((0, 0), np.int64)

    def _score_of_counts(self, counts):
        """Return the metric's value for a confusion matrix."""
        return float(counts.trace() / counts.sum())

    def update(self, labels, preds):
        """Add a batch. labels: classes, (N,); preds: scores, (N, classes), or classes, (N,)."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            label, pred = to_numpy(label).ravel().astype(np.int64), to_numpy(pred)
            n = pred.shape[1] if pred.ndim == 2 else 0
            if pred.ndim > 2:
                raise ShapeError(f"{self.name}: predictions of shape {pred.shape}, expected 2 axes")
            pred = pred.argmax(axis=1) if pred.ndim == 2 else pred.ravel().astype(np.int64)
            if label.size != pred.size:
                raise ShapeError(f"{self.name}: {label.size} labels, {pred.size} predictions")
            if not label.size:
                continue
            if min(label.min(), pred.min()) < 0:
                raise ArgumentError(f"{self.name}: classes are 0 or more, found a negative one")
            n = max(n, 1 + int(max(label.max(), pred.max())))
            counts = np.bincount(n * label + pred, minlength=n * n).reshape(n, n)
            self._local = _add_matrices(self._local, counts)
            self._global = _add_matrices(self._global, counts)
        self._update_score_sums()

    def _update_score_sums(self):
        """Set the sums that `get` and `get_global` divide."""
        self.num_inst, self.global_num_inst = int(self._local.sum()), int(self._global.sum())
        if self.num_inst:
            self.sum_metric = self._score_of_counts(self._local) * self.num_inst
        if self.global_num_inst:
            self.global_sum_metric = self._score_of_counts(self._global) * self.global_num_inst

    def _state_of_this_rank(self):
        return self._global.tolist()

    def _merge_rank_states(self, rows):
        counts = np.zeros((0, 0), np.int64)
        for row in rows:
            counts = _add_matrices(counts, np.array(row, np.int64).reshape(len(row), len(row)))
        self._local = self._global = counts
        self._update_score_sums()


@register
@alias("confusion_matrix")
class ConfusionMatrix(_ConfusionMetric):
    """Counts predictions per label and predicted class; the value is the share of correct ones.

    Examples
    --------
    >>> confusion = ConfusionMatrix()
    >>> confusion.update([np.array([0, 1, 1, 2])], [np.array([0, 1, 2, 2])])
    >>> confusion.matrix
    array([[1, 0, 0],
           [0, 1, 1],
           [0, 0, 1]])
    >>> confusion.get()
    ('confusion_matrix', 0.75)
    """

    def __init__(
        self,
        name: str = "confusion_matrix",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    @property
    def matrix(self) -> NumpyArray:
        """Return the counts, (classes, classes): rows are labels, columns are predictions."""
        return self._global.copy()


@guarded
class _ClassAverage(_ConfusionMetric):  # base of Precision and Recall
    """Base of Precision and Recall: a class's correct predictions over its sum along `axis`."""

    axis: int

    def __init__(self, name, output_names, label_names, average):
        if average not in _AVERAGES:
            raise ArgumentError(f"{name}: average must be one of {_AVERAGES}, got {average!r}")
        self.average = average
        super().__init__(name, output_names, label_names, average=average, has_global_stats=True)

    def _score_of_counts(self, counts):
        right, sums = counts.diagonal(), counts.sum(axis=self.axis)
        if self.average == "micro":
            return float(right.sum() / sums.sum())
        rates = right / np.maximum(sums, 1)  # 0 for a class without samples
        if self.average == "weighted":
            return float(np.average(rates, weights=counts.sum(axis=1)))
        seen = counts.sum(axis=0) + counts.sum(axis=1) > 0
        return float(rates[seen].mean())

    def by_class(self) -> NumpyArray:
        """Return the value of each class, (classes,); 0 for a class without samples.

        Examples
        --------
        >>> recall = Recall()
        >>> recall.update([np.array([0, 0, 1])], [np.array([0, 1, 1])])
        >>> recall.by_class()
        array([0.5, 1. ])
        """
        return self._global.diagonal() / np.maximum(self._global.sum(axis=self.axis), 1)


@register
class Precision(_ClassAverage):
    """The share of the predictions of a class that are correct.

    Parameters
    ----------
    average : str
        ``'macro'``: mean over the classes that occurred; ``'weighted'``: mean weighted by how often
        each class is a label; ``'micro'``: all predictions together.

    Raises
    ------
    ArgumentError
        `average` is none of these.

    Examples
    --------
    >>> precision = Precision()
    >>> precision.update([np.array([0, 0, 1])], [np.array([0, 1, 1])])
    >>> precision.get()
    ('precision', 0.75)
    """

    axis = 0

    def __init__(
        self,
        name: str = "precision",
        output_names: Names | None = None,
        label_names: Names | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)


@register
class Recall(_ClassAverage):
    """The share of a class's examples that are predicted as this class.

    Parameters
    ----------
    average : str
        See :class:`Precision`.

    Raises
    ------
    ArgumentError
        `average` is none of these.

    Examples
    --------
    >>> recall = Recall()
    >>> recall.update([np.array([0, 0, 1])], [np.array([0, 1, 1])])
    >>> recall.get()
    ('recall', 0.75)
    """

    axis = 1

    def __init__(
        self,
        name: str = "recall",
        output_names: Names | None = None,
        label_names: Names | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)


@register
@alias("miou")
class MeanIoU(_ConfusionMetric):
    """Mean over classes of the intersection over union of the pixels labelled and the pixels
    predicted as the class.

    Parameters
    ----------
    ignore_label : int, optional
        Pixels of this label do not count.

    Examples
    --------
    >>> metric = MeanIoU()
    >>> metric.update([np.array([[[0, 0], [1, 1]]])], [np.array([[[0, 1], [1, 1]]])])
    >>> metric.by_class()
    array([0.5       , 0.66666667])
    """

    def __init__(
        self,
        ignore_label: int | None = None,
        name: str = "mean_iou",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        self.ignore_label = ignore_label
        super().__init__(
            name, output_names, label_names, ignore_label=ignore_label, has_global_stats=True
        )

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels: classes, (N, ...); preds: scores, (N, classes, ...), or classes."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            label, pred = to_numpy(label), to_numpy(pred)
            if pred.ndim == label.ndim + 1:
                pred = pred.argmax(axis=1)
            if pred.shape != label.shape:
                raise ShapeError(
                    f"{self.name}: labels of shape {label.shape} do not fit predictions of shape"
                    f" {pred.shape}"
                )
            if self.ignore_label is not None:
                counted = label != self.ignore_label
                label, pred = label[counted], pred[counted]
            super().update([label.ravel()], [pred.ravel()])

    def by_class(self):
        """Return the value of each class, (classes,); 0 for a class that did not occur.

        Returns
        -------
        numpy.ndarray
            Intersection over union of each class.
        """
        return _recall_per_class(self._global)

    def _score_of_counts(self, counts):
        occurred = counts.sum(axis=0) + counts.sum(axis=1) > 0
        return float(_recall_per_class(counts)[occurred].mean())


def _recall_per_class(counts):
    right = counts.diagonal()
    return right / np.maximum(counts.sum(axis=0) + counts.sum(axis=1) - right, 1)


@register
@alias("roc_auc")
class AUC(EvalMetric):
    """Area under the ROC curve: the probability that a 1 has a higher score than a 0.

    It keeps all scores since ``reset``; nan until both classes were met.

    Examples
    --------
    >>> auc = AUC()
    >>> auc.update([np.array([0, 0, 1, 1])], [np.array([0.1, 0.4, 0.35, 0.8])])
    >>> auc.get()
    ('auc', 0.75)
    """

    def __init__(
        self, name: str = "auc", output_names: Names | None = None, label_names: Names | None = None
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def reset(self) -> None:
        super().reset()
        self._pairs: list[tuple[NumpyArray, NumpyArray]] = []
        self._begin = 0

    def reset_local(self) -> None:
        super().reset_local()
        self._begin = len(self._pairs)

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels: 0 or 1, (N,); preds: scores of class 1, (N,), or of both, (N, 2)."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            label, pred = to_numpy(label).ravel(), to_numpy(pred).astype(np.float64)
            if pred.ndim == 2 and pred.shape[1] == 2:
                pred = pred[:, 1]
            pred = pred.ravel()
            if label.size != pred.size:
                raise ShapeError(f"{self.name}: {label.size} labels, {pred.size} scores")
            if not np.isin(label, (0, 1)).all():
                raise ArgumentError(f"{self.name}: labels must be 0 or 1")
            self._pairs.append((label == 1, pred))
            self.num_inst += label.size
            self.global_num_inst += label.size

    def get(self) -> tuple[str, float]:
        return self.name, _area_under_curve(self._pairs[self._begin :])

    def get_global(self) -> tuple[str, float]:
        return self.name, _area_under_curve(self._pairs)

    def _state_of_this_rank(self):
        return [[positive.tolist(), scores.tolist()] for positive, scores in self._pairs]

    def _merge_rank_states(self, rows):
        self._pairs = [
            (np.array(positive, bool), np.array(scores)) for row in rows for positive, scores in row
        ]
        self._begin = 0
        self.num_inst = self.global_num_inst = sum(len(scores) for _, scores in self._pairs)


def _area_under_curve(pairs):
    """Compute the area by the rank sum (Mann and Whitney); equal scores have equal ranks."""
    if not pairs:
        return math.nan
    positive, scores = (np.concatenate(each) for each in zip(*pairs))
    ones = int(positive.sum())
    zeros = positive.size - ones
    if not ones or not zeros or np.isnan(scores).any():
        return math.nan
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (counts.cumsum() - (counts - 1) / 2)[place]
    return float((ranks[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))
