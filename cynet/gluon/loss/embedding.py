"""Losses of distances between vectors: triplets, cosines, deep metric learning."""

from __future__ import annotations

from typing import Any

from .base import Loss, _apply_weighting, _reshape_like

__all__ = ["CosineEmbeddingLoss", "SDMLLoss", "TripletLoss"]


class TripletLoss(Loss):
    """Triplet loss of each sample: ``max(0, |pred - positive|^2 - |pred - negative|^2 + margin)``.

    Parameters
    ----------
    margin : float
        By how much `negative` should be farther away than `positive`, as a squared distance.

    Examples
    --------
    >>> loss = mx.gluon.loss.TripletLoss()
    >>> loss(*map(mx.nd.array, ([[1, 2]], [[1, 3]], [[2, 2]]))).asnumpy().tolist()
    [1.0]
    """

    def __init__(
        self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self, F: Any, pred: Any, positive: Any, negative: Any, sample_weight: Any = None
    ) -> Any:
        """Compute losses (N,) from three arrays of equal size, and weights."""
        positive = _reshape_like(F, positive, pred)
        negative = _reshape_like(F, negative, pred)
        loss = F.sum(
            F.square(positive - pred) - F.square(negative - pred),
            axis=self._batch_axis,
            exclude=True,
        )
        loss = F.relu(loss + self._margin)
        return _apply_weighting(F, loss, self._weight, sample_weight)


class CosineEmbeddingLoss(Loss):
    """Cosine loss: ``1 - cos`` of pairs labelled 1, ``max(0, cos - margin)`` of pairs labelled -1.

    Parameters
    ----------
    batch_axis : int
        The axis of the samples.
    margin : float
        Cosine below which pairs labelled -1 have no loss.

    Examples
    --------
    >>> loss = mx.gluon.loss.CosineEmbeddingLoss()
    >>> a, b = mx.nd.array([[1, 0]]), mx.nd.array([[0, 2]])
    >>> loss(a, b, mx.nd.array([1])).asnumpy().tolist()
    [[1.0]]
    """

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, margin: float = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self, F: Any, input1: Any, input2: Any, label: Any, sample_weight: Any = None
    ) -> Any:
        """Compute losses (N, 1) from two arrays of vectors, labels, and weights."""
        input1 = _reshape_like(F, input1, input2)
        cosine = _cosine_similarity(F, input1, input2)
        label = F.reshape(label, shape=(-1, 1))
        loss = F.where(label == 1, 1.0 - cosine, F.relu(cosine - self._margin))
        return _apply_weighting(F, loss, self._weight, sample_weight)


def _cosine_similarity(F, x, y, axis=-1):
    lengths = F.reshape(F.norm(x, axis=axis), shape=(-1, 1))
    lengths = lengths * F.reshape(F.norm(y, axis=axis), shape=(-1, 1))
    product = F.reshape(F.sum(x * y, axis=axis), shape=(-1, 1))
    return product / F.broadcast_maximum(lengths, F.ones_like(lengths) * 1e-12)


class SDMLLoss(Loss):
    """Smoothed deep metric learning: row i of one array should be nearest to row i of the other.

    Parameters
    ----------
    smoothing_parameter : float
        Probability that is spread over all others.

    Examples
    --------
    >>> loss = mx.gluon.loss.SDMLLoss()
    >>> x = mx.nd.eye(3)
    >>> partners, others = loss(x, x), loss(x, x[::-1])
    >>> bool(partners.mean() < others.mean())
    True
    """

    def __init__(
        self,
        smoothing_parameter: float = 0.3,
        weight: float | None = 1.0,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._smoothing = smoothing_parameter

    def hybrid_forward(self, F: Any, x1: Any, x2: Any) -> Any:
        """Compute losses (N,) from two arrays of vectors (N, size)."""
        first = F.expand_dims(x1, axis=1)
        second = F.expand_dims(x2, axis=0)
        distances = F.sum(F.square(F.broadcast_sub(first, second)), axis=2)
        pred = F.log_softmax(-distances, axis=1)
        gold = self._smoothed_labels(F, x1, distances)
        loss = gold * (F.log(gold + 1e-12) - pred)
        loss = F.sum(loss, axis=self._batch_axis, exclude=True)
        return _apply_weighting(F, loss, self._weight, None)

    def _smoothed_labels(self, F, x1, distances):
        """Return target probabilities (N, N): 1 - smoothing on the diagonal."""
        rows = F.cumsum(F.ones_like(distances), axis=0)
        columns = F.cumsum(F.ones_like(distances), axis=1)
        partner = rows == columns
        others = F.broadcast_sub(
            F.sum(F.ones_like(distances), axis=1, keepdims=True),
            F.ones_like(F.sum(distances, axis=1, keepdims=True)),
        )
        spread = F.broadcast_div((1.0 - partner) * self._smoothing, others)
        return F.BlockGrad(partner * (1.0 - self._smoothing) + spread)
