"""What training reports of classes and boxes: their losses."""

import numpy as np

import cynet as mx


class MultiBoxMetric(mx.metric.EvalMetric):
    """Cross-entropy of the anchors that learn a class, and the boxes' smooth L1 loss for each.

    Predictions are the outputs of ``get_symbol_train``.
    """

    def __init__(self):
        self._names = ("cross-entropy", "smooth-l1")
        super().__init__("multibox")

    def reset(self):
        """Begin anew."""
        self.sums, self.count = np.zeros(2), 0

    reset_local = reset

    def update(self, labels, preds):
        """Add a batch."""
        share, loss, wanted = (p.asnumpy() for p in preds[:3])
        learns = wanted >= 0
        kinds = np.where(learns, wanted, 0).astype(int)
        drawn = np.take_along_axis(share, kinds[:, None], 1)[:, 0]
        self.sums += -np.log(np.maximum(drawn[learns], 1e-12)).sum(), loss.sum()
        self.count += learns.sum()

    def get(self):
        """Names and values."""
        values = self.sums / self.count if self.count else np.full(2, np.nan)
        return list(self._names), values.tolist()

    get_global = get
