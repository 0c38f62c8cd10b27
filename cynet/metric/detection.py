"""Mean average precision of detected boxes, as VOC and COCO define it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base.errors import ArgumentError, ShapeError, shown
from .base import EvalMetric, alias, check_label_shapes, register, to_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..typing import Names, NumpyArray

__all__ = ["MeanAveragePrecision"]


class _MatchingRule(NamedTuple):  # how detections are matched with boxes
    overlaps: tuple[float, ...]
    points: int | None  # number of recall points; None: exact area under the curve
    only_free: bool  # a detection may only match a box that is not matched yet
    most: int | None  # maximum of detections per image and class


_COCO_THRESHOLDS = tuple(np.round(np.arange(0.5, 1.0, 0.05), 2).tolist())  # least IoU of a match
_MATCH_RULES = {  # name of a rule -> how detections are matched with boxes
    "voc": _MatchingRule((0.5,), None, False, None),
    "voc07": _MatchingRule((0.5,), 11, False, None),
    "coco": _MatchingRule(_COCO_THRESHOLDS, 101, True, 100),
}


def _pairwise_iou(found, boxes):
    """Compute IoU (n, m) of each detected box (n, 4) with each labeled box (m, 4)."""
    low = np.maximum(found[:, None, :2], boxes[None, :, :2])
    high = np.minimum(found[:, None, 2:], boxes[None, :, 2:])
    both = (high - low).clip(0).prod(axis=2)
    areas = [(each[:, 2:] - each[:, :2]).clip(0).prod(axis=1) for each in (found, boxes)]
    return both / np.maximum(areas[0][:, None] + areas[1][None] - both, 1e-12)


@register
@alias("map")
class MeanAveragePrecision(EvalMetric):
    """Mean over classes of the average precision of detected boxes.

    A found box is right where it overlaps a box of its class enough that no box with a higher score
    has taken. It keeps a row for each found box since ``reset``; nan until a box was to be found.

    Parameters
    ----------
    class_names : sequence of str, optional
        Names of classes 0, 1, ...: the figure of each is given after the mean.
    overlap : float or sequence of float, optional
        The intersection over union from which on a box is right; of several, the mean of their
        figures is taken. By default that of the rule.
    rule : str
        ``'voc'``: the area under precision over recall, overlap 0.5, as VOC since 2010.
        ``'voc07'``: 11 recalls, as VOC 2007. ``'coco'``: 101 recalls, overlaps 0.5, 0.55, ...,
        0.95, at most 100 boxes of an image and class.

    Raises
    ------
    ArgumentError
        `rule` is none of these, or an overlap is not above 0 and at most 1.

    Examples
    --------
    An image with two boxes, of which one is found, and a third that is not there.

    >>> metric = MeanAveragePrecision()
    >>> boxes = np.array([[[0, 0.1, 0.1, 0.4, 0.4], [0, 0.5, 0.5, 0.9, 0.9]]])
    >>> found = np.array([[[0, 0.9, 0.1, 0.1, 0.4, 0.4], [0, 0.8, 0.6, 0, 0.9, 0.2]]])
    >>> metric.update([boxes], [found])
    >>> metric.get()
    ('mAP', 0.5)
    """

    def __init__(
        self,
        class_names: Sequence[str] | None = None,
        overlap: float | Sequence[float] | None = None,
        rule: str = "voc",
        name: str = "mAP",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        if rule not in _MATCH_RULES:
            raise ArgumentError(f"{name}: rule must be one of {[*_MATCH_RULES]}, got {shown(rule)}")
        self._rule = _MATCH_RULES[rule]
        if overlap is not None:
            each = np.atleast_1d(np.asarray(overlap, np.float64))
            if each.ndim > 1 or not each.size or not ((each > 0) & (each <= 1)).all():
                raise ArgumentError(
                    f"{name}: overlap must be above 0 and at most 1, got {shown(overlap)}"
                )
            self._rule = self._rule._replace(overlaps=tuple(each.tolist()))
        self.class_names = None if class_names is None else list(class_names)
        super().__init__(
            name,
            output_names,
            label_names,
            class_names=self.class_names,
            overlap=overlap,
            rule=rule,
        )

    def reset(self) -> None:
        super().reset()
        self._boxes: dict[int, int] = {}
        self._found: dict[int, list[tuple[float, list[bool]]]] = {}

    def reset_local(self) -> None:
        self.reset()

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels: rows (class, left, top, right, bottom, ...), (N, boxes, 5 or more);
        preds: rows (class, score, left, top, right, bottom), (N, found, 6), as of
        MultiBoxDetection. Rows of a negative class are padding. Of several outputs the last one
        counts."""
        if not hasattr(preds, "shape"):
            preds = preds[-1:]
        labels, preds = check_label_shapes(labels, preds, wrap=True)
        label, pred = (to_numpy(each[0]).astype(np.float64) for each in (labels, preds))
        fits = label.ndim == pred.ndim == 3 and len(label) == len(pred)
        if not fits or label.shape[2] < 5 or pred.shape[2] != 6:
            raise ShapeError(
                f"{self.name}: expected labels (N, boxes, 5 or more) and predictions"
                f" (N, found, 6), got {label.shape} and {pred.shape}"
            )
        for boxes, rows in zip(label, pred):
            boxes, rows = boxes[boxes[:, 0] >= 0], rows[rows[:, 0] >= 0]
            for kind in np.union1d(boxes[:, 0], rows[:, 0]).astype(int).tolist():
                self._add_image_detections(
                    kind, boxes[boxes[:, 0] == kind][:, 1:5], rows[rows[:, 0] == kind][:, 1:]
                )
        self.num_inst += len(label)

    def _add_image_detections(self, kind, boxes, rows):
        rows = rows[np.argsort(-rows[:, 0], kind="stable")][: self._rule.most]
        self._boxes[kind] = self._boxes.get(kind, 0) + len(boxes)
        shares = _pairwise_iou(rows[:, 1:], boxes)
        right = np.zeros((len(rows), len(self._rule.overlaps)), bool)
        for column, least in enumerate(self._rule.overlaps):
            free = np.ones(len(boxes), bool)
            for row, share in enumerate(shares if len(boxes) else ()):
                if self._rule.only_free:
                    share = np.where(free, share, -1.0)
                best = int(share.argmax())
                if share[best] >= least and free[best]:
                    free[best], right[row, column] = False, True
        self._found.setdefault(kind, []).extend(zip(rows[:, 0].tolist(), right.tolist()))

    def by_class(self) -> NumpyArray:
        """Return the average precision of each class, (classes,); nan for a class without boxes.

        Examples
        --------
        >>> metric = MeanAveragePrecision(["cat", "dog"])
        >>> boxes = np.array([[[1, 0, 0, 1, 1]]])
        >>> metric.update([boxes], [np.array([[[1, 0.5, 0, 0, 1, 1]]])])
        >>> metric.by_class()
        array([nan,  1.])
        """
        classes = 1 + max(
            [*self._boxes, -1 if self.class_names is None else len(self.class_names) - 1]
        )
        return np.array([self._class_average_precision(kind) for kind in range(classes)])

    def _class_average_precision(self, kind):
        count = self._boxes.get(kind, 0)
        if not count:
            return math.nan
        found = sorted(self._found.get(kind, []), key=lambda pair: -pair[0])
        right = np.array([each for _, each in found], bool)
        right = right.reshape(len(found), len(self._rule.overlaps))
        return float(
            np.mean([_average_precision(column, count, self._rule.points) for column in right.T])
        )

    def get(self) -> tuple[Any, Any]:
        """Return name and mean; with `class_names`, lists: of the mean, then of each class."""
        values = self.by_class()
        there = values[np.isfinite(values)]
        mean = float(there.mean()) if there.size else math.nan
        if self.class_names is None:
            return self.name, mean
        names = [self.name, *(f"AP-{each}" for each in self.class_names)]
        return names, [mean, *values[: len(self.class_names)].tolist()]

    def _state_of_this_rank(self):
        return [self.num_inst, [*self._boxes.items()], [*self._found.items()]]

    def _merge_rank_states(self, rows):
        self.reset()
        for images, boxes, found in rows:
            self.num_inst += images
            for kind, count in boxes:
                self._boxes[kind] = self._boxes.get(kind, 0) + count
            for kind, each in found:
                self._found.setdefault(kind, []).extend(each)


def _average_precision(right, count, points):
    """Return the average precision of detections in the order of their scores."""
    hits = right.cumsum()
    precision = np.append(hits / np.arange(1, len(right) + 1), 0.0)
    best = np.maximum.accumulate(precision[::-1])[::-1]  # maximum precision at this recall or more
    if points is None:
        return best[:-1][right].sum() / count
    recalls = np.linspace(0, 1, points)
    return best[np.searchsorted(hits / count, recalls, side="left")].mean()
