"""Losses for rare classes and small regions: focal losses and Dice's."""

from __future__ import annotations

from typing import Any

from ...base.errors import ArgumentError, shown
from .base import Loss, _apply_weighting, _reshape_like

__all__ = ["DiceLoss", "SigmoidFocalLoss", "SoftmaxFocalLoss"]


def _check_nonnegative(loss, name, value, maximum=float("inf")):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= maximum:
        limits = "of 0 or more" if maximum == float("inf") else f"from 0 to {maximum:g}"
        raise ArgumentError(
            f"{type(loss).__name__}: {name} must be a number {limits}, got {shown(value)}"
        )


class SigmoidFocalLoss(Loss):
    """The cross-entropy of independent binary labels, with low weight for well classified examples.

    The mean over each sample of ``alpha * label * (1 - p)**gamma * -log(p)
    + (1 - alpha) * (1 - label) * p**gamma * -log(1 - p)`` with ``p = sigmoid(pred)`` (Lin et al.,
    "Focal Loss for Dense Object Detection", 2017).

    Parameters
    ----------
    alpha : float, optional
        Weight of the positive labels, from 0 to 1; None weights both by 1.

    Raises
    ------
    ArgumentError
        A negative `gamma`, or an `alpha` that is not from 0 to 1.

    Examples
    --------
    >>> loss = mx.gluon.loss.SigmoidFocalLoss()
    >>> found = loss(mx.nd.array([[-3, 0, 3]]), mx.nd.array([[1, 1, 1]]))  # wrong, open, right
    >>> f"{found.asscalar():.4f}"
    '0.2450'
    """

    def __init__(
        self,
        gamma: float = 2.0,
        alpha: float | None = 0.25,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        _check_nonnegative(self, "gamma", gamma)
        if alpha is not None:
            _check_nonnegative(self, "alpha", alpha, 1)
        self._gamma, self._alpha = gamma, alpha

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Compute losses (N,) from pred, label of the same size, and weights."""
        label = _reshape_like(F, label, pred)
        no = F.Activation(pred, act_type="softrelu")  # -log(1 - p), numerically stable
        yes = no - pred  # -log(p)
        positive = label * F.exp(-self._gamma * no) * yes
        negative = (1 - label) * F.exp(-self._gamma * yes) * no
        if self._alpha is not None:
            positive, negative = self._alpha * positive, (1 - self._alpha) * negative
        loss = _apply_weighting(F, positive + negative, self._weight, sample_weight)
        return self._mean_per_sample(F, loss)


class SoftmaxFocalLoss(Loss):
    """The cross-entropy of softmax probabilities, with low weight for well classified examples.

    The mean over each sample of ``(1 - p)**gamma * -log(p)``, where p is the probability of the
    label's class.

    Parameters
    ----------
    from_logits : bool
        Whether `pred` is the logarithm of probabilities already.

    Raises
    ------
    ArgumentError
        A negative `gamma`.

    Examples
    --------
    >>> pred, label = mx.nd.array([[0, 0], [4, 0]]), mx.nd.array([0, 0])
    >>> [f"{each:.4f}" for each in mx.gluon.loss.SoftmaxFocalLoss()(pred, label).asnumpy()]
    ['0.1733', '0.0000']
    """

    def __init__(
        self,
        axis: int = -1,
        gamma: float = 2.0,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        _check_nonnegative(self, "gamma", gamma)
        self._axis, self._gamma = axis, gamma
        self._sparse_label, self._from_logits = sparse_label, from_logits

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Compute losses (N,) from pred, labels, and weights."""
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            mode = "raise" if sample_weight is None else "clip"
            loss = self._loss_of_log_prob(
                F, F.pick(pred, label, axis=self._axis, keepdims=True, mode=mode)
            )
        else:
            label = _reshape_like(F, label, pred)
            loss = F.sum(label * self._loss_of_log_prob(F, pred), axis=self._axis, keepdims=True)
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return self._mean_per_sample(F, loss)

    def _loss_of_log_prob(self, F, log):
        """Return the focal loss for log-probabilities `log`."""
        if self._gamma == 0:
            return -log
        rest = -F.expm1(log) + 1e-12  # the gradient of the power is infinite at 0
        return -(rest**self._gamma) * log


class DiceLoss(Loss):
    """One minus Dice's coefficient, a measure of overlap that is independent of region size.

    ``1 - (2 * sum(p * label) + smooth) / (sum(p) + sum(label) + smooth)``, sums over each sample,
    with ``p = sigmoid(pred)``.

    Parameters
    ----------
    from_sigmoid : bool
        Whether `pred` is a probability; if not, the sigmoid is applied to it.
    smooth : float
        Added to both sides of the quotient; above 0, two empty regions overlap.

    Raises
    ------
    ArgumentError
        A negative `smooth`.

    Examples
    --------
    >>> loss = mx.gluon.loss.DiceLoss(from_sigmoid=True, smooth=0)
    >>> loss(mx.nd.array([[1, 1, 0, 0]]), mx.nd.array([[0, 1, 1, 0]])).asscalar().item()
    0.5
    """

    def __init__(
        self,
        from_sigmoid: bool = False,
        smooth: float = 1.0,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        _check_nonnegative(self, "smooth", smooth)
        self._from_sigmoid, self._smooth = from_sigmoid, smooth

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Compute losses (N,) from pred, label of the same size, and weights (N,)."""
        label = _reshape_like(F, label, pred)
        if not self._from_sigmoid:
            pred = F.sigmoid(pred)

        def sum_of_sample(x):
            return F.sum(x, axis=self._batch_axis, exclude=True)

        both = 2 * sum_of_sample(pred * label) + self._smooth
        loss = 1 - both / (sum_of_sample(pred) + sum_of_sample(label) + self._smooth)
        return _apply_weighting(F, loss, self._weight, sample_weight)
