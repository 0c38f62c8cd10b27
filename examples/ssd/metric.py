"""What training reports: losses of classes and boxes, and the mean average precision."""

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


def overlaps(box, others):
    """Intersection over union of a box (4,) and each of others (n, 4)."""
    size = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    both = size.clip(0).prod(1)
    areas = (others[:, 2:] - others[:, :2]).prod(1) + (box[2:] - box[:2]).prod()
    return both / np.maximum(areas - both, 1e-12)


class MeanAveragePrecision(mx.metric.EvalMetric):
    """The area under precision over recall of each class, and their mean (as of VOC from 2010 on).

    Parameters
    ----------
    class_names : sequence of str
    overlap : float
        How much a detection has to overlap a box of its class to be right.
    """

    def __init__(self, class_names, overlap=0.5):
        self._classes, self._overlap = tuple(class_names), overlap
        super().__init__("mAP")

    def reset(self):
        """Begin anew."""
        self._found = [[] for _ in self._classes]  # (score, right) of each detection
        self._boxes = np.zeros(len(self._classes), int)

    reset_local = reset

    def update(self, labels, preds):
        """Add a batch; rows (class, score, corners) are the last of `preds`."""
        for boxes, rows in zip(labels[0].asnumpy(), preds[-1].asnumpy()):
            boxes = boxes[boxes[:, 0] >= 0]
            for kind, found in enumerate(self._found):
                mine = boxes[boxes[:, 0] == kind][:, 1:5]
                self._boxes[kind] += len(mine)
                taken = np.zeros(len(mine), bool)
                rows_of_kind = rows[rows[:, 0] == kind]
                for row in rows_of_kind[np.argsort(-rows_of_kind[:, 1], kind="stable")]:
                    shares = overlaps(row[2:6], mine) if len(mine) else np.zeros(1)
                    best = int(shares.argmax())
                    right = shares[best] >= self._overlap and not taken[best]
                    if right:
                        taken[best] = True
                    found.append((row[1], right))

    def average_precisions(self):
        """Of each class; NaN where there were no boxes."""
        out = []
        for found, count in zip(self._found, self._boxes):
            if not count:
                out.append(float("nan"))
                continue
            right = np.array([r for _, r in sorted(found, key=lambda pair: -pair[0])], bool)
            hits = right.cumsum()
            precision = np.append(hits / np.arange(1, len(right) + 1), 0)
            best = np.maximum.accumulate(precision[::-1])[::-1][:-1]
            out.append(float(best[right].sum() / count))
        return out

    def get(self):
        """The mean over the classes, and each class."""
        values = self.average_precisions()
        mean = float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
        return ["mAP", *(f"AP-{name}" for name in self._classes)], [mean, *values]

    get_global = get
