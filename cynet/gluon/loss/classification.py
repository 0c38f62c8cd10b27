"""Losses of classification: cross-entropies and the Kullback-Leibler divergence."""

from __future__ import annotations

from typing import Any

from ...base.errors import ArgumentError, shown
from ...optimizer.settings import check_real
from .base import Loss, _apply_weighting, _reshape_like

__all__ = ["KLDivLoss", "SigmoidBCELoss", "SigmoidBinaryCrossEntropyLoss", "SoftmaxCELoss"]
__all__ += ["SoftmaxCrossEntropyLoss"]


class SigmoidBinaryCrossEntropyLoss(Loss):
    """The cross-entropy of independent binary labels, averaged over each sample.

    Parameters
    ----------
    from_sigmoid : bool
        Whether `pred` is a probability; False is more accurate.

    Examples
    --------
    >>> loss = mx.gluon.loss.SigmoidBCELoss()
    >>> f"{loss(mx.nd.zeros((1, 2)), mx.nd.ones((1, 2))).asscalar():.4f}"
    '0.6931'
    """

    def __init__(
        self,
        from_sigmoid: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self, F: Any, pred: Any, label: Any, sample_weight: Any = None, pos_weight: Any = None
    ) -> Any:
        """Compute losses (N,) from pred, label of the same size, and weights of samples and of
        positive labels."""
        label = _reshape_like(F, label, pred)
        if not self._from_sigmoid:
            rest = F.Activation(-F.abs(pred), act_type="softrelu")
            if pos_weight is None:
                loss = F.relu(pred) - pred * label + rest
            else:
                factor = 1 + F.broadcast_mul(pos_weight - 1, label)
                loss = pred - pred * label + factor * (rest + F.relu(-pred))
        else:
            eps = 1e-12
            positive = F.log(pred + eps) * label
            if pos_weight is not None:
                positive = F.broadcast_mul(positive, pos_weight)
            loss = -(positive + F.log(1.0 - pred + eps) * (1.0 - label))
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return self._mean_per_sample(F, loss)


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """The cross-entropy of softmax probabilities, averaged over each sample.

    Parameters
    ----------
    from_logits : bool
        Whether `pred` is the logarithm of probabilities already.
    batch_axis : int
        The axis of the samples.
    label_smoothing : float
        The share of each label that all classes get alike, from 0 to 1 (Szegedy et al., "Rethinking
        the Inception architecture", 2015).

    Raises
    ------
    ArgumentError
        `label_smoothing` is not from 0 to 1.

    Examples
    --------
    >>> loss = mx.gluon.loss.SoftmaxCELoss()
    >>> f"{loss(mx.nd.array([[1, 2, 3]]), mx.nd.array([2])).asscalar():.4f}"
    '0.4076'
    >>> loss = mx.gluon.loss.SoftmaxCELoss(label_smoothing=0.1)
    >>> f"{loss(mx.nd.array([[1, 2, 3]]), mx.nd.array([2])).asscalar():.4f}"
    '0.5076'
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        label_smoothing: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        check_real("label_smoothing", label_smoothing)
        if not 0 <= label_smoothing <= 1:
            raise ArgumentError(f"label_smoothing is from 0 to 1, got {shown(label_smoothing)}")
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits
        self._smoothing = label_smoothing

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Compute losses (N,) from pred, labels, and weights."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            # samples of weight 0 may have invalid labels
            mode = "raise" if sample_weight is None else "clip"
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True, mode=mode)
        else:
            label = _reshape_like(F, label, pred)
            loss = -F.sum(pred * label, axis=self._axis, keepdims=True)
        if self._smoothing:
            even = -F.mean(pred, axis=self._axis, keepdims=True)
            loss = loss * (1 - self._smoothing) + even * self._smoothing
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return self._mean_per_sample(F, loss)


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """The divergence of distributions, the sum of ``label * (log(label) - pred)`` over each sample.

    Parameters
    ----------
    from_logits : bool
        Whether `pred` is the logarithm of probabilities; if not, log-softmax is applied to it.

    Examples
    --------
    >>> loss = mx.gluon.loss.KLDivLoss()
    >>> half = mx.nd.array([[0.5, 0.5]])
    >>> abs(round(float(loss(half.log(), half).asscalar()), 6))
    0.0
    """

    def __init__(
        self,
        from_logits: bool = True,
        axis: int = -1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Compute losses (N,) from pred, distributions of the same shape, and weights."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        loss = label * (F.log(label + 1e-12) - pred)
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.sum(loss, axis=self._batch_axis, exclude=True)
