"""Losses of a signed margin: hinge, squared hinge, logistic."""

from __future__ import annotations

from typing import Any

from ...base.errors import ArgumentError, shown
from .base import Loss, _apply_weighting, _reshape_like

__all__ = ["HingeLoss", "LogisticLoss", "SquaredHingeLoss"]


class HingeLoss(Loss):
    """The mean of ``max(0, margin - pred * label)`` over each sample, for labels -1 and 1.

    Parameters
    ----------
    margin : float
        Value of ``pred * label`` from which on there is no loss.

    Examples
    --------
    >>> loss = mx.gluon.loss.HingeLoss()
    >>> float(loss(mx.nd.array([[0.5, -2]]), mx.nd.ones((1, 2))).asscalar())
    1.75
    """

    def __init__(
        self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def _penalize_excess(self, F, loss):
        return F.relu(loss)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Compute losses (N,) from pred, label of the same size, and weights."""
        label = _reshape_like(F, label, pred)
        loss = self._penalize_excess(F, self._margin - pred * label)
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return self._mean_per_sample(F, loss)


class SquaredHingeLoss(HingeLoss):
    """The mean of ``max(0, margin - pred * label) ** 2`` over each sample, for labels -1 and 1.

    Parameters
    ----------
    margin : float
        Value of ``pred * label`` from which on there is no loss.

    Examples
    --------
    >>> loss = mx.gluon.loss.SquaredHingeLoss()
    >>> float(loss(mx.nd.array([[0.5, -2]]), mx.nd.ones((1, 2))).asscalar())
    4.625
    """

    def _penalize_excess(self, F, loss):
        return F.square(F.relu(loss))


class LogisticLoss(Loss):
    """The mean of ``log(1 + exp(-pred * label))`` over each sample.

    Parameters
    ----------
    batch_axis : int
        The axis of the samples.
    label_format : str
        ``'signed'``, labels -1 and 1, or ``'binary'``, 0 and 1.

    Raises
    ------
    ArgumentError
        `label_format` is neither 'signed' nor 'binary'.

    Examples
    --------
    >>> loss = mx.gluon.loss.LogisticLoss()
    >>> f"{loss(mx.nd.zeros((1, 1)), mx.nd.ones((1, 1))).asscalar():.4f}"
    '0.6931'
    """

    def __init__(
        self,
        weight: float | None = None,
        batch_axis: int = 0,
        label_format: str = "signed",
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ArgumentError(
                f"LogisticLoss: label_format is 'signed' or 'binary', got {shown(label_format)}"
            )
        self._label_format = label_format

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Compute losses (N,) from pred, label of the same size, and weights."""
        label = _reshape_like(F, label, pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        loss = F.relu(pred) - pred * label + F.Activation(-F.abs(pred), act_type="softrelu")
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return self._mean_per_sample(F, loss)
