"""Metrics of a network's loss output: Loss, and its aliases Torch and Caffe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import EvalMetric, register, to_numpy

if TYPE_CHECKING:
    from ..typing import Names

__all__ = ["Caffe", "Loss", "Torch"]


@register
class Loss(EvalMetric):
    """The mean of all entries of the outputs; labels are ignored.

    Examples
    --------
    >>> loss = Loss()
    >>> loss.update(None, [np.array([1.0, 2.0])])
    >>> loss.get()
    ('loss', 1.5)
    """

    def __init__(
        self,
        name: str = "loss",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, _: Any, preds: Any) -> None:
        """preds: any arrays."""
        for pred in [preds] if hasattr(preds, "shape") else preds:
            values = to_numpy(pred)
            self._add(float(values.sum()), values.size)


@register
class Torch(Loss):
    """:class:`Loss` under the name that outputs of Torch criteria have.

    Examples
    --------
    >>> metric = Torch()
    >>> metric.update(None, [np.array([1.0, 3.0])])
    >>> metric.get()
    ('torch', 2.0)
    """

    def __init__(
        self,
        name: str = "torch",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """:class:`Loss` under the name that outputs of Caffe criteria have.

    Examples
    --------
    >>> metric = Caffe()
    >>> metric.update(None, [np.array([1.0, 3.0])])
    >>> metric.get()
    ('caffe', 2.0)
    """

    def __init__(
        self,
        name: str = "caffe",
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        super().__init__(name, output_names, label_names)
