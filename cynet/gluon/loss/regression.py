"""Losses of regression: L1, L2, Huber, Poisson."""

from __future__ import annotations

import math
from typing import Any

from ...base.errors import ArgumentError, shown
from .base import Loss, _apply_weighting, _reshape_like

__all__ = ["HuberLoss", "L1Loss", "L2Loss", "PoissonNLLLoss"]


class L2Loss(Loss):
    """The mean over each sample of half the squared error, ``weight / 2 * (pred - label) ** 2``.

    Examples
    --------
    >>> loss = mx.gluon.loss.L2Loss()
    >>> loss(mx.nd.array([[1, 2], [3, 4]]), mx.nd.ones((2, 2))).asnumpy().tolist()
    [0.25, 3.25]
    """

    def __init__(self, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Compute losses (N,) from pred, label of the same size, and weights."""
        label = _reshape_like(F, label, pred)
        loss = F.square(label - pred)
        loss = _apply_weighting(F, loss, self._weight / 2, sample_weight)
        return self._mean_per_sample(F, loss)


class L1Loss(Loss):
    """The mean over each sample of the absolute error.

    Examples
    --------
    >>> loss = mx.gluon.loss.L1Loss()
    >>> loss(mx.nd.array([[1, 2], [3, 4]]), mx.nd.ones((2, 2))).asnumpy().tolist()
    [0.5, 2.5]
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Compute losses (N,) from pred, label of the same size, and weights."""
        label = _reshape_like(F, label, pred)
        loss = F.abs(label - pred)
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return self._mean_per_sample(F, loss)


class HuberLoss(Loss):
    """The squared error over 2 rho below rho, else the absolute error minus rho / 2.

    Parameters
    ----------
    rho : float
        Error at which the loss turns from quadratic to linear.

    Raises
    ------
    ArgumentError
        `rho` is not above 0.

    Examples
    --------
    >>> loss = mx.gluon.loss.HuberLoss()
    >>> loss(mx.nd.array([[0, 3, -0.5]]), mx.nd.zeros((1, 3))).asnumpy().tolist()
    [0.875]
    """

    def __init__(
        self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if not rho > 0:
            raise ArgumentError(f"HuberLoss: rho must be greater than 0, got {shown(rho)}")
        self._rho = rho

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        """Compute losses (N,) from pred, label of the same size, and weights."""
        label = _reshape_like(F, label, pred)
        loss = F.abs(label - pred)
        loss = F.where(loss > self._rho, loss - 0.5 * self._rho, (0.5 / self._rho) * F.square(loss))
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return self._mean_per_sample(F, loss)


class PoissonNLLLoss(Loss):
    """The negative log-likelihood of Poisson distributed counts, as one number.

    Parameters
    ----------
    from_logits : bool
        Whether `pred` is the logarithm of the rate.
    batch_axis : int
        The axis of the samples.
    compute_full : bool
        Add Stirling's approximation of the term that does not depend on `pred`.

    Examples
    --------
    >>> loss = mx.gluon.loss.PoissonNLLLoss()
    >>> f"{loss(mx.nd.array([[1, 2]]), mx.nd.array([[1, 3]])).asscalar():.4f}"
    '1.5537'
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(
        self, F: Any, pred: Any, target: Any, sample_weight: Any = None, epsilon: float = 1e-08
    ) -> Any:
        """Compute one number from pred, target of the same size, and weights."""
        target = _reshape_like(F, target, pred)
        if self._from_logits:
            loss = F.exp(pred) - target * pred
        else:
            loss = pred - target * F.log(pred + epsilon)
        if self._compute_full:
            stirling = target * F.log(target) - target + 0.5 * F.log(2 * target * math.pi)
            loss = loss + F.where(target > 1, stirling, F.zeros_like(stirling))
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.mean(loss)
