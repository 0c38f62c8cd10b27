"""Loss: the base of losses, with weights of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.errors import ShapeError, shown
from ...ndarray import NDArray
from ..block import HybridBlock
from ..errors import MismatchError

__all__ = ["Loss"]


def _apply_weighting(F, loss, weight=None, sample_weight=None):
    """Multiply `loss` by a number and by weights that are broadcast."""
    if sample_weight is not None:
        if isinstance(loss, NDArray):
            _check_sample_weight_shape(loss.shape, sample_weight.shape)
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is not None:
        if isinstance(weight, bool) or not isinstance(weight, (int, float, np.generic)):
            raise MismatchError(f"weight must be a number, got {shown(weight)}")
        loss = loss * weight
    return loss


def _check_sample_weight_shape(loss, weights):
    if len(loss) == 2 and weights == (loss[0],) and loss[0] > 1 and loss[1] == 1:
        raise ShapeError(
            f"sample_weight of shape {weights} would weight every sample of a loss {loss} by the"
            f" mean of all weights; give it the shape ({loss[0]}, 1)"
        )


def _reshape_like(F, x, y):
    """Reshape `x` to the shape of `y`."""
    return x.reshape(y.shape) if isinstance(x, NDArray) else F.reshape_like(x, y)


class Loss(HybridBlock):
    """Base of losses.

    Parameters
    ----------
    weight : float or None
        Factor of the loss.
    batch_axis : int
        The axis of the samples, over which no mean is taken.

    Examples
    --------
    >>> class Absolute(mx.gluon.loss.Loss):
    ...     def hybrid_forward(self, F, pred, label):
    ...         return F.mean(F.abs(pred - label), axis=self._batch_axis, exclude=True)
    >>> Absolute(None, 0)(mx.nd.array([[1, 2]]), mx.nd.array([[2, 4]])).asnumpy().tolist()
    [1.5]
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def _mean_per_sample(self, F, loss):
        """Return the mean over all axes except the batch axis."""
        return F.mean(loss, axis=self._batch_axis, exclude=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"
