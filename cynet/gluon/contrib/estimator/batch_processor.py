"""BatchProcessor: what is done with one batch of training or validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .... import autograd
from ....base.guard import guarded
from ...utils import split_and_load

if TYPE_CHECKING:
    from .estimator import Estimator

__all__ = ["BatchProcessor"]


@guarded
class BatchProcessor:
    """Computes predictions, losses and, in training, gradients; a subclass may do it otherwise.

    Both methods return (data, label, predictions, losses): lists with an array for each context.
    """

    def _get_data_and_label(self, batch, ctx, batch_axis=0):
        """(data, label) of a batch, split over the contexts."""
        data = split_and_load(batch[0], ctx, batch_axis, even_split=False)
        label = split_and_load(batch[1], ctx, batch_axis, even_split=False)
        return data, label

    def fit_batch(self, estimator: Estimator, train_batch: Any, batch_axis: int = 0) -> Any:
        """Forward and backward of one batch.

        Parameters
        ----------
        estimator : Estimator
        train_batch : (array, array)
        batch_axis : int
        """
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(each) for each in data]
            loss = [estimator.loss(each, wanted) for each, wanted in zip(pred, label)]
        autograd.backward(loss)
        return data, label, pred, loss

    def evaluate_batch(self, estimator: Estimator, val_batch: Any, batch_axis: int = 0) -> Any:
        """Forward of one batch, by the estimator's `val_net` and `val_loss`.

        Parameters
        ----------
        estimator : Estimator
            Whose training it is.
        """
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(each) for each in data]
        loss = [estimator.val_loss(each, wanted) for each, wanted in zip(pred, label)]
        return data, label, pred, loss
