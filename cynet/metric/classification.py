"""Metrics of class predictions: accuracy, top-k accuracy, F1, Matthews and Pearson correlation."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, ShapeError, UndefinedError
from ..base.guard import guarded
from .base import EvalMetric, alias, check_label_shapes, register, to_numpy

if TYPE_CHECKING:
    from ..typing import Names, NumpyArray

__all__ = ["F1", "MCC", "PCC", "Accuracy", "TopKAccuracy"]


@register
@alias("acc")
class Accuracy(EvalMetric):
    """The share of predictions whose largest entry along `axis` is at the label.

    Parameters
    ----------
    axis : int
        Axis of the classes in predictions; predictions of the label's shape are classes already.

    Examples
    --------
    >>> acc = Accuracy()
    >>> acc.update([np.array([0, 1])], [np.array([[0.3, 0.7], [0.0, 1.0]])])
    >>> acc.get()
    ('accuracy', 0.5)
    """

    def __init__(
        self,
        axis: int = 1,
        name: str = "accuracy",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, axis=axis, has_global_stats=True)
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels: classes; preds: scores with a class axis, or classes."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            found = label.shape, pred.shape
            label, pred = to_numpy(label), to_numpy(pred)
            if pred.shape != label.shape:
                if not -pred.ndim <= self.axis < pred.ndim:
                    raise ShapeError(
                        f"{self.name}: predictions of shape {found[1]} have no axis"
                        f" {self.axis}; labels have shape {found[0]}"
                    )
                pred = pred.argmax(axis=self.axis)
            elif pred.ndim > 1 and _are_distributions(label, self.axis):
                raise ArgumentError(
                    f"{self.name}: expected classes as labels, got"
                    f" {label[label != np.trunc(label)][0]:g}; distributions, which MixUp"
                    " makes, are for CrossEntropy"
                )
            if pred.size != label.size:
                raise ShapeError(
                    f"{self.name}: labels of shape {found[0]} do not fit predictions"
                    f" of shape {found[1]}"
                )
            hits = pred.ravel().astype(np.int32, copy=False) == label.ravel().astype(
                np.int32, copy=False
            )
            self._add(int(np.count_nonzero(hits)), pred.size)


def _are_distributions(label, axis):
    """Return whether labels are probabilities of classes, and not indices of classes."""
    if not -label.ndim <= axis < label.ndim or not (label != np.trunc(label)).any():
        return False
    return (label >= 0).all() and np.allclose(label.sum(axis=axis), 1, atol=1e-2)


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """The share of predictions that have the label among their `top_k` largest entries.

    Parameters
    ----------
    top_k : int
        Number of entries to look at, above 1; ``_{top_k}`` is appended to the metric's name.

    Raises
    ------
    ArgumentError
        `top_k` is 1 or less.

    Examples
    --------
    >>> top = TopKAccuracy(top_k=2)
    >>> top.update([np.array([2, 0])], [np.array([[0.1, 0.7, 0.2], [0.1, 0.5, 0.4]])])
    >>> top.get()
    ('top_k_accuracy_2', 0.5)
    """

    _hits = _rows = np.zeros(0, np.int64)  # counts by class, since the last reset

    def __init__(
        self,
        top_k: int = 1,
        name: str = "top_k_accuracy",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        if top_k <= 1:
            raise ArgumentError(f"top_k must be more than 1 (use Accuracy for 1), got {top_k}")
        super().__init__(name, output_names, label_names, top_k=top_k, has_global_stats=True)
        self.top_k = top_k
        self.name += f"_{top_k}"

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "name": self.name[: -len(f"_{self.top_k}")]}

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels: classes, (N,); preds: scores, (N, classes)."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            label, pred = to_numpy(label).ravel().astype(np.int32), to_numpy(pred)
            if pred.ndim != 2 or len(pred) != len(label):
                raise ShapeError(
                    f"{self.name}: predictions must have shape ({len(label)}, classes)"
                    f" for {len(label)} labels, got {pred.shape}"
                )
            if pred.shape[1] < self.top_k:
                raise ShapeError(f"{self.name}: {pred.shape[1]} classes have no top {self.top_k}")
            best = np.argpartition(pred, -self.top_k, axis=1)[:, -self.top_k :]
            hits = (best == label[:, None]).any(axis=1)
            self._add(int(np.count_nonzero(hits)), len(label))
            classes = pred.shape[1]
            known = (label >= 0) & (label < classes)  # labels out of range are misses
            rows = np.bincount(label[known], minlength=classes)
            hits = np.bincount(label[hits], minlength=classes)
            self._rows, self._hits = _add_vectors(self._rows, rows), _add_vectors(self._hits, hits)

    def reset(self) -> None:
        super().reset()
        self._hits = self._rows = np.zeros(0, np.int64)

    def by_class(self) -> NumpyArray:
        """Return the value of each class, (classes,); 0 for a class that is never a label.

        Examples
        --------
        >>> top = TopKAccuracy(top_k=2)
        >>> top.update([np.array([2, 0])], [np.array([[0.1, 0.7, 0.2], [0.1, 0.5, 0.4]])])
        >>> top.by_class()
        array([0., 0., 1.])
        """
        return self._hits / np.maximum(self._rows, 1)

    def _state_of_this_rank(self):
        return [super()._state_of_this_rank(), self._hits.tolist(), self._rows.tolist()]

    def _merge_rank_states(self, rows):
        super()._merge_rank_states([row[0] for row in rows])
        none = np.zeros(0, np.int64)
        self._hits, self._rows = (
            functools.reduce(_add_vectors, [np.array(row[i], np.int64) for row in rows], none)
            for i in (1, 2)
        )


def _add_vectors(first, second):
    """Add two vectors; the shorter one is padded with zeros."""
    out = np.zeros(max(len(first), len(second)), np.int64)
    out[: len(first)] += first
    out[: len(second)] += second
    return out


@guarded
class _BinaryScore(EvalMetric):  # base of F1 and MCC
    """Base of F1 and MCC: a score of two classes' confusion counts [[tn, fp], [fn, tp]].

    ``average='macro'`` is the mean of the updates' scores, ``'micro'`` the score of all examples.
    """

    def __init__(self, name, output_names, label_names, average):
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=True)
        if average != "macro":  # MXNet's config omits the default
            self._kwargs["average"] = average

    def _score_of_counts(self, counts):
        """Return the score of counts = [[tn, fp], [fn, tp]]."""
        raise UndefinedError(f"{type(self).__name__} defines no _score_of_counts")

    def reset(self):
        super().reset()
        self._local = np.zeros((2, 2), np.int64)
        self._global = np.zeros((2, 2), np.int64)

    def reset_local(self):
        super().reset_local()
        self._local = np.zeros((2, 2), np.int64)

    def update(self, labels, preds):
        """Add a batch. labels: 0 or 1, (N,); preds: scores, (N, 2). As in MXNet, any label other
        than 1 is the other class: -1 and 1 are accepted, and more columns of scores."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        counts = np.zeros((2, 2), np.int64)
        for label, pred in zip(labels, preds):
            counts += self._confusion_counts(to_numpy(label), to_numpy(pred))
        if self.average == "macro":
            self._add(self._score_of_counts(counts), 1)
            return
        self._local += counts
        self._global += counts
        self.num_inst, self.global_num_inst = int(self._local.sum()), int(self._global.sum())
        self.sum_metric = self._score_of_counts(self._local) * self.num_inst
        self.global_sum_metric = self._score_of_counts(self._global) * self.global_num_inst

    def _state_of_this_rank(self):
        return [*super()._state_of_this_rank(), self._global.tolist()]

    def _merge_rank_states(self, rows):
        super()._merge_rank_states(rows)
        if self.average == "micro":
            counts = sum(np.array(row[2]) for row in rows)
            self.sum_metric = self.global_sum_metric = self._score_of_counts(counts) * self.num_inst

    def _confusion_counts(self, label, pred):
        if len(label) != len(pred):
            raise ShapeError(
                f"Shape of labels {len(label)} does not match shape of predictions {len(pred)}"
            )
        label = label.ravel().astype(np.int32)
        pred = (pred.argmax(axis=1) == 1) if pred.ndim > 1 else (pred > 0.5)
        if label.size != pred.size:
            raise ShapeError(f"{self.name}: {label.size} labels, {pred.size} predictions")
        if len(np.unique(label)) > 2:
            raise ArgumentError(
                f"{self.name} takes two classes, 0 and 1; found labels"
                f" {label.min()} to {label.max()}"
            )
        return np.bincount(2 * (label == 1) + pred, minlength=4).reshape(2, 2)


@register
class F1(_BinaryScore):
    """The harmonic mean of precision and recall of class 1.

    Parameters
    ----------
    average : str
        ``'macro'``: mean of the updates' scores; ``'micro'``: the score of all examples together.

    Examples
    --------
    >>> f1 = F1()
    >>> f1.update([np.array([0, 1, 1])], [np.array([[0.3, 0.7], [0.0, 1.0], [0.4, 0.6]])])
    >>> round(f1.get()[1], 4)
    0.8
    """

    def __init__(
        self,
        name: str = "f1",
        output_names: Names | None = None,
        label_names: Names | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def _score_of_counts(self, counts):
        (_, false_pos), (false_neg, true_pos) = counts.tolist()
        return 2 * true_pos / (2 * true_pos + false_pos + false_neg) if true_pos else 0.0


@register
class MCC(_BinaryScore):
    """Matthews correlation of two classes: 1 for perfect, 0 for chance, -1 for always wrong.

    Parameters
    ----------
    average : str
        ``'macro'``: mean of the updates' scores; ``'micro'``: the score of all examples together.

    Examples
    --------
    >>> mcc = MCC()
    >>> mcc.update([np.array([0, 1])], [np.array([[0.9, 0.1], [0.2, 0.8]])])
    >>> mcc.get()
    ('mcc', 1.0)
    """

    def __init__(
        self,
        name: str = "mcc",
        output_names: Names | None = None,
        label_names: Names | None = None,
        average: str = "macro",
    ) -> None:
        super().__init__(name, output_names, label_names, average)

    def _score_of_counts(self, counts):
        (true_neg, false_pos), (false_neg, true_pos) = counts.tolist()
        product = 1.0
        for margin in (
            true_pos + false_pos,
            true_pos + false_neg,
            true_neg + false_pos,
            true_neg + false_neg,
        ):
            product *= margin or 1  # an empty row or column is left out
        return (true_pos * true_neg - false_pos * false_neg) / math.sqrt(product)


@register
class PCC(EvalMetric):
    """Pearson correlation of labels and predicted classes, any number of classes.

    Parameters
    ----------
    has_global_stats : bool
        Whether to keep the statistics since ``reset`` beside those since ``reset_local``.

    Examples
    --------
    >>> pcc = PCC()
    >>> pcc.update([np.array([0, 1, 2])], [np.eye(3)])
    >>> pcc.get()
    ('pcc', 1.0)
    """

    def __init__(
        self,
        name: str = "pcc",
        output_names: Names | None = None,
        label_names: Names | None = None,
        has_global_stats: bool = True,
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def reset(self) -> None:
        super().reset()
        self._local = np.zeros((2, 2))
        self._global = np.zeros((2, 2))

    def reset_local(self) -> None:
        super().reset_local()
        self._local = np.zeros((2, 2))

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels: classes, (N,); preds: scores, (N, classes)."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            label, pred = to_numpy(label).ravel().astype(np.int64), to_numpy(pred)
            pred = pred.argmax(axis=1) if pred.ndim > 1 else pred.astype(np.int64)
            if label.size != pred.size:
                raise ShapeError(f"{self.name}: {label.size} labels, {pred.size} predictions")
            if label.size == 0 or min(label.min(), pred.min()) < 0:
                raise ArgumentError(f"{self.name}: classes must be 0 or more, and at least one")
            n = 1 + int(max(label.max(), pred.max()))
            counts = np.bincount(n * pred + label, minlength=n * n).reshape(n, n)
            self._local = _add_matrices(self._local, counts)
            self._global = _add_matrices(self._global, counts)
        self.num_inst += 1
        self.global_num_inst += 1
        self.sum_metric = self._score_of_counts(self._local) * self.num_inst
        self.global_sum_metric = self._score_of_counts(self._global) * self.global_num_inst

    def _state_of_this_rank(self):
        return [*super()._state_of_this_rank(), self._global.tolist()]

    def _merge_rank_states(self, rows):
        super()._merge_rank_states(rows)
        counts = functools.reduce(_add_matrices, [np.array(row[2]) for row in rows])
        self.sum_metric = self.global_sum_metric = self._score_of_counts(counts) * self.num_inst

    @staticmethod
    def _score_of_counts(counts):
        n = counts.sum()
        rows, columns = counts.sum(axis=1), counts.sum(axis=0)
        spread = np.sum(rows * (n - rows)) * np.sum(columns * (n - columns))
        if spread == 0:
            return math.nan
        return float(np.sum(counts.diagonal() * n - rows * columns) / math.sqrt(spread))


def _add_matrices(old, new):
    n = max(len(old), len(new))
    out = np.zeros((n, n))
    out[: len(old), : len(old)] = old
    out[: len(new), : len(new)] += new
    return out
