"""CTCLoss: connectionist temporal classification."""

from __future__ import annotations

from typing import Any

from ...base.errors import shown
from ..errors import MismatchError
from .base import Loss, _apply_weighting

__all__ = ["CTCLoss"]


class CTCLoss(Loss):
    """Connectionist temporal classification: the negative log-likelihood of label sequences over
    all alignments.

    Class C - 1 of the scores is the blank; labels are 0 to C - 2, and -1 fills up what is short.

    Parameters
    ----------
    layout : str
        Order of the axes of predictions, ``'NTC'`` or ``'TNC'``: batch, time, classes.
    label_layout : str
        Order of the axes of labels, ``'NT'`` or ``'TN'``.

    Raises
    ------
    MismatchError
        `layout` is neither ``'NTC'`` nor ``'TNC'``, or `label_layout` neither ``'NT'`` nor
        ``'TN'``.

    Examples
    --------
    >>> loss = mx.gluon.loss.CTCLoss()
    >>> scores = mx.nd.zeros((1, 2, 3))  # two steps; classes a, b and the blank
    >>> f"{loss(scores, mx.nd.array([[0, -1]])).asscalar():.4f}"  # aa, a- or -a: log 3/9
    '1.0986'
    """

    def __init__(
        self,
        layout: str = "NTC",
        label_layout: str = "NT",
        weight: float | None = None,
        **kwargs: Any,
    ) -> None:
        for what, value, known in (
            ("layout", layout, ("NTC", "TNC")),
            ("label_layout", label_layout, ("NT", "TN")),
        ):
            if value not in known:
                raise MismatchError(
                    f"CTCLoss: {what} is {known[0]!r} or {known[1]!r}, got {shown(value)}"
                )
        super().__init__(weight, label_layout.find("N"), **kwargs)
        self._layout = layout
        self._label_layout = label_layout

    def hybrid_forward(
        self,
        F: Any,
        pred: Any,
        label: Any,
        pred_lengths: Any = None,
        label_lengths: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        """Compute losses (N,) from scores (N, T, C) before the softmax, labels (N, L), and
        optionally lengths of sequences and of labels, and weights."""
        if self._layout == "NTC":
            pred = F.swapaxes(pred, 0, 1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, 0, 1)
        loss = F.CTCLoss(
            pred,
            label,
            pred_lengths,
            label_lengths,
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return _apply_weighting(F, loss, self._weight, sample_weight)
