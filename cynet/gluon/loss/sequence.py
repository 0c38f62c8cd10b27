"""CTCLoss: connectionist temporal classification."""

from __future__ import annotations

from typing import Any

from ...base.errors import UndefinedError, shown
from ...base.guard import guarded
from ..errors import MismatchError
from .base import Loss


@guarded(but=("hybrid_forward",))
class CTCLoss(Loss):
    """The negative log-likelihood of label sequences, alignments summed out.

    Parameters
    ----------
    layout : str
        Of predictions, ``'NTC'`` or ``'TNC'``.
    label_layout : str
        ``'NT'`` or ``'TN'``.
    weight : float, optional

    Raises
    ------
    UndefinedError
        When it is called: cynet has no operator ``CTCLoss`` yet.
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
        """Refused: the operator is not provided yet."""
        raise UndefinedError("gluon.loss.CTCLoss: the operator CTCLoss is not provided yet")
