"""Metrics of class probabilities: cross-entropy, log-likelihood, perplexity, calibration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ArgumentError, ShapeError, shown
from .base import EvalMetric, alias, check_label_shapes, register, to_numpy
from .summed import _SumMetric

if TYPE_CHECKING:
    from ..typing import Names

__all__ = ["CalibrationError", "CrossEntropy", "NegativeLogLikelihood", "Perplexity"]


def _label_probabilities(name, label, pred, axis=-1):
    """Return the probability of each label, and the integer labels, both flattened."""
    label, pred = to_numpy(label), to_numpy(pred)
    if not -pred.ndim <= axis < pred.ndim:
        raise ShapeError(f"{name}: predictions of shape {pred.shape} have no axis {axis}")
    pred = np.moveaxis(pred, axis, -1)
    flat = label.ravel().astype(np.int64)
    if flat.size * pred.shape[-1] != pred.size:
        raise ShapeError(
            f"{name}: labels of shape {label.shape} do not fit predictions of shape {pred.shape}"
        )
    rows = pred.reshape(flat.size, pred.shape[-1])
    return rows, flat


def _entry_at_label(name, rows, labels):
    """Return each row's entry at its label; negative labels count from the end, as in MXNet."""
    classes = rows.shape[1]
    if labels.size and (labels.min() < -classes or labels.max() >= classes):
        raise ShapeError(
            f"{name}: labels from {labels.min()} to {labels.max()} do not fit"
            f" predictions of {classes} classes, 0 to {classes - 1}"
        )
    return rows[np.arange(labels.size), labels]


@register
@alias("ce", "cross-entropy", "log_loss")
class CrossEntropy(EvalMetric):
    """The mean of ``-log(probability of the label + eps)``; of labels that are distributions, the
    mean of ``-sum(label * log(probability + eps))``.

    Examples
    --------
    >>> ce = CrossEntropy()
    >>> ce.update([np.array([0, 1])], [np.array([[0.5, 0.5], [0.0, 1.0]])])
    >>> round(ce.get()[1], 4)
    0.3466
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "cross-entropy",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels: classes (N,) or distributions, preds: probabilities (N, classes)."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            # soft labels, as from MixUp
            if len(pred.shape) == 2 and label.shape == pred.shape:
                losses = -to_numpy(label) * np.log(to_numpy(pred) + self.eps)
                self._add(float(losses.sum()), pred.shape[0])
                continue
            rows, classes = _label_probabilities(self.name, label, pred)
            losses = -np.log(_entry_at_label(self.name, rows, classes) + self.eps)
            self._add(float(losses.sum()), classes.size)


@register
@alias("nll_loss", "nll-loss")
class NegativeLogLikelihood(CrossEntropy):
    """:class:`CrossEntropy` under its other name.

    Examples
    --------
    >>> metric = NegativeLogLikelihood()
    >>> metric.update([np.array([0])], [np.array([[0.5, 0.5]])])
    >>> name, value = metric.get()
    >>> name, round(value, 4)  # log(2)
    ('nll-loss', 0.6931)
    """

    def __init__(
        self,
        eps: float = 1e-12,
        name: str = "nll-loss",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        super().__init__(eps, name, output_names, label_names)


@register
class Perplexity(EvalMetric):
    """``exp`` of the mean negative log-probability of the labels.

    Parameters
    ----------
    ignore_label : int or None
        Label that is left out, such as that of padding.
    axis : int
        Axis of the classes in predictions.

    Examples
    --------
    >>> perplexity = Perplexity(ignore_label=None)
    >>> perplexity.update([np.array([0, 1])], [np.array([[0.5, 0.5], [0.5, 0.5]])])
    >>> round(perplexity.get()[1], 6)
    2.0
    """

    def __init__(
        self,
        ignore_label: int | None,
        axis: int = -1,
        name: str = "perplexity",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        super().__init__(
            name,
            output_names,
            label_names,
            ignore_label=ignore_label,
            axis=axis,
            has_global_stats=True,
        )
        self.ignore_label = ignore_label
        self.axis = axis

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels: classes; preds: probabilities, with one axis more."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            rows, classes = _label_probabilities(self.name, label, pred, self.axis)
            if self.ignore_label is not None:
                counted = classes != int(self.ignore_label)
                rows, classes = rows[counted], classes[counted]
            # MXNet reads negative labels, such as padding that is not ignored, as class 0
            picked = _entry_at_label(self.name, rows, np.maximum(classes, 0))
            losses = -np.log(np.maximum(picked, 1e-10))
            self._add(float(losses.sum()), classes.size)

    def _metric_value(self, total, count):
        return math.exp(total / count)


@register
@alias("ece")
class CalibrationError(_SumMetric):
    """Expected calibration error: the mean difference between confidence and accuracy.

    The confidence of a prediction is its largest probability. Predictions are sorted into bins of
    equal width by it; the figure is the mean over predictions of the distance between the
    confidence and the accuracy of their bin.

    Parameters
    ----------
    bins : int
        How many bins there are from 0 to 1.

    Raises
    ------
    ArgumentError
        `bins` is not a positive int.

    Examples
    --------
    >>> metric = CalibrationError()
    >>> scores = np.array([[0.75, 0.25], [0.75, 0.25], [0.25, 0.75], [0.25, 0.75]])
    >>> metric.update([np.array([0, 0, 0, 1])], [scores])  # three of four, at 0.75 each
    >>> metric.get()
    ('calibration_error', 0.0)
    """

    def __init__(
        self,
        bins: int = 10,
        name: str = "calibration_error",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        if type(bins) is not int or bins < 1:
            raise ArgumentError(f"{name}: bins must be a positive int, got {shown(bins)}")
        self.bins = bins
        super().__init__(name, output_names, label_names, bins=bins, has_global_stats=True)

    def _initial_sums(self):
        return np.zeros((3, self.bins + 1))  # rows: count, confidence, correct; column 0: totals

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels: classes, (N,); preds: probabilities, (N, classes)."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            label, pred = to_numpy(label).ravel(), to_numpy(pred).astype(np.float64)
            if pred.ndim != 2 or len(pred) != label.size:
                raise ShapeError(
                    f"{self.name}: expected labels (N,) and probabilities (N, classes), got"
                    f" {label.shape} and {pred.shape}"
                )
            if not label.size:
                continue
            sure, right = pred.max(axis=1), pred.argmax(axis=1) == label
            if not ((sure >= 0) & (sure <= 1 + 1e-6)).all():
                raise ArgumentError(f"{self.name}: probabilities are from 0 to 1")
            place = np.clip(np.ceil(sure * self.bins), 1, self.bins).astype(int)
            sums = self._initial_sums()
            for row, weights in enumerate((np.ones_like(sure), sure, right)):
                sums[row] = np.bincount(place, weights, self.bins + 1)
                sums[row, 0] = sums[row].sum()
            self._add_sums(sums)

    def _compute_value(self, sums):
        return float(abs(sums[1, 1:] - sums[2, 1:]).sum() / sums[0, 0])
