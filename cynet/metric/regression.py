"""Metrics of real-valued predictions: absolute and squared error, R2, Pearson correlation."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import ShapeError, UndefinedError
from ..base.guard import guarded
from .base import EvalMetric, alias, check_label_shapes, register, to_numpy
from .summed import _SumMetric

if TYPE_CHECKING:
    from ..typing import Names

__all__ = ["MAE", "MSE", "R2", "RMSE", "PearsonCorrelation"]


@guarded
class _MeanBatchError(EvalMetric):  # base of MAE, MSE and RMSE
    """Base of metrics that are means over batches of an error."""

    def __init__(self, name, output_names, label_names):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _compute_value(self, error):
        """Return a batch's value for the array label - prediction."""
        raise UndefinedError(f"{type(self).__name__} defines no _compute_value")

    def update(self, labels, preds):
        """Add a batch. labels and preds: arrays of the same shape, or of shapes that NumPy
        broadcasts after (N,) has become (N, 1): labels (N,) meet every column of predictions (N,
        K), as in MXNet."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            label, pred = to_numpy(label), to_numpy(pred)
            found = label.shape, pred.shape
            label = label[:, None] if label.ndim == 1 else label
            pred = pred[:, None] if pred.ndim == 1 else pred
            try:
                error = label - pred
            except ValueError:
                raise ShapeError(
                    f"{self.name}: labels of shape {found[0]} do not fit"
                    f" predictions of shape {found[1]}"
                ) from None
            self._add(self._compute_value(error), 1)


@register
class MAE(_MeanBatchError):
    """The mean absolute error.

    Examples
    --------
    >>> mae = MAE()
    >>> mae.update([np.array([1.0, 2.0])], [np.array([1.5, 1.0])])
    >>> mae.get()
    ('mae', 0.75)
    """

    def __init__(
        self, name: str = "mae", output_names: Names | None = None, label_names: Names | None = None
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _compute_value(self, error):
        return float(np.abs(error).mean())


@register
class MSE(_MeanBatchError):
    """The mean squared error.

    Examples
    --------
    >>> mse = MSE()
    >>> mse.update([np.array([1.0, 2.0])], [np.array([2.0, 4.0])])
    >>> mse.get()
    ('mse', 2.5)
    """

    def __init__(
        self, name: str = "mse", output_names: Names | None = None, label_names: Names | None = None
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _compute_value(self, error):
        return float(np.square(error).mean())


@register
class RMSE(_MeanBatchError):
    """The mean over batches of the root of the batch's mean squared error.

    Examples
    --------
    >>> rmse = RMSE()
    >>> rmse.update([np.array([1.0, 2.0])], [np.array([4.0, 5.0])])
    >>> rmse.get()
    ('rmse', 3.0)
    """

    def __init__(
        self,
        name: str = "rmse",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _compute_value(self, error):
        return math.sqrt(np.square(error).mean())


@register
@alias("r2_score")
class R2(_SumMetric):
    """The share of the labels' variance that predictions explain: 1 is best; the mean gives 0.

    All entries since ``reset`` count alike; of several columns the mean of their shares is taken.
    nan while labels are all alike.

    Examples
    --------
    >>> r2 = R2()
    >>> r2.update([np.array([1.0, 2.0, 3.0])], [np.array([1.0, 2.0, 2.0])])
    >>> r2.get()
    ('r2', 0.5)
    """

    def __init__(
        self, name: str = "r2", output_names: Names | None = None, label_names: Names | None = None
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _initial_sums(self):
        return np.zeros((4, 0))  # count, mean, sum of squared deviations, sum of squared errors

    def _merge_sums(self, one, other):
        """Merge sums of squares around means in a numerically stable way (Chan et al.)."""
        if not one.size or not other.size:
            return other if other.size else one
        if one.shape != other.shape:
            raise ShapeError(
                f"{self.name}: labels have {other.shape[1]} columns, {one.shape[1]} before"
            )
        rows = one[0] + other[0]
        gap = other[1] - one[1]
        mean = one[1] + gap * other[0] / rows
        spread = one[2] + other[2] + gap**2 * one[0] * other[0] / rows
        return np.stack([rows, mean, spread, one[3] + other[3]])

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels and preds: arrays of the same size, (N,) or (N, columns)."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            label, pred = (to_numpy(each).astype(np.float64) for each in (label, pred))
            if label.size != pred.size or (label.ndim and len(label) != len(pred)):
                raise ShapeError(
                    f"{self.name}: labels of shape {label.shape} do not fit predictions of shape"
                    f" {pred.shape}"
                )
            if not label.size:
                continue
            label, pred = (each.reshape(len(label), -1) for each in (label, pred))
            mean = label.mean(axis=0)
            spread, error = ((label - each) ** 2 for each in (mean, pred))
            rows = np.full_like(mean, len(label))
            self._add_sums(np.stack([rows, mean, spread.sum(axis=0), error.sum(axis=0)]))

    def _compute_value(self, sums):
        if (sums[2] == 0).any():
            return math.nan
        return float(np.mean(1 - sums[3] / sums[2]))


@register
@alias("pearsonr")
class PearsonCorrelation(EvalMetric):
    """Pearson correlation of labels and predictions.

    Parameters
    ----------
    average : str
        ``'macro'``: mean of the batches' correlations; ``'micro'``: correlation of all entries
        together.

    Examples
    --------
    >>> pearson = PearsonCorrelation()
    >>> pearson.update([np.array([1.0, 2.0, 3.0])], [np.array([2.0, 4.0, 6.0])])
    >>> round(pearson.get()[1], 6)
    1.0
    """

    def __init__(
        self,
        name: str = "pearsonr",
        output_names: Names | None = None,
        label_names: Names | None = None,
        average: str = "macro",
    ) -> None:
        self.average = average
        super().__init__(name, output_names, label_names, has_global_stats=average == "macro")
        if average != "macro":
            self._kwargs["average"] = average

    def reset(self) -> None:
        super().reset()
        self.reset_micro()

    def reset_local(self) -> None:
        super().reset_local()
        self.reset_micro()

    def reset_micro(self) -> None:
        """Reset the sums of ``average='micro'``; `reset` includes this.

        Examples
        --------
        >>> metric = PearsonCorrelation(average="micro")
        >>> metric.update([np.array([1.0, 2.0])], [np.array([2.0, 4.0])])
        >>> metric.reset_micro()
        >>> metric.update([np.array([1.0, 2.0])], [np.array([2.0, 1.0])])
        >>> round(float(metric.get()[1]), 4)
        -1.0
        """
        self._update_counts = 0
        self._mean = np.zeros(2)
        self._scatter = np.zeros((2, 2))  # sums of products of deviations from the mean

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels and preds: arrays of the same shape."""
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            check_label_shapes(label, pred, shape=True)
            pair = np.stack([to_numpy(label).ravel(), to_numpy(pred).ravel()]).astype(np.float64)
            if self.average == "macro":
                self._add(float(np.corrcoef(pair)[0, 1]), 1)
                continue
            mean = pair.mean(axis=1)
            centred = pair - mean[:, None]
            self._merge_sums(pair.shape[1], mean, centred @ centred.T)
            self.num_inst += 1

    def _merge_sums(self, count, mean, scatter):
        """Merge a batch's mean and scatter in a numerically stable way (Chan et al.)."""
        if not count:
            return
        gap, total = mean - self._mean, self._update_counts + count
        self._scatter = (
            self._scatter + scatter + np.outer(gap, gap) * (self._update_counts * count / total)
        )
        self._mean = self._mean + gap * (count / total)
        self._update_counts = total

    def _state_of_this_rank(self):
        if self.average == "macro":
            return super()._state_of_this_rank()
        return [self.num_inst, self._update_counts, self._mean.tolist(), self._scatter.tolist()]

    def _merge_rank_states(self, rows):
        if self.average == "macro":
            super()._merge_rank_states(rows)
            return
        self.reset()
        for batches, count, mean, scatter in rows:
            self.num_inst += batches
            self._merge_sums(count, np.array(mean), np.array(scatter))

    def get(self) -> tuple[Any, Any]:
        if self.average == "macro" or self.num_inst == 0:
            return super().get()
        spread = math.sqrt(self._scatter[0, 0] * self._scatter[1, 1])
        return self.name, (self._scatter[0, 1] / spread if spread else math.nan)
