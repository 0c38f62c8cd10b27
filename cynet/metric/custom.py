"""Metrics from a user's function: CustomMetric and np()."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentTypeError, UndefinedError, shown
from ..base.guard import guarded
from .base import EvalMetric, check_label_shapes, register, to_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..typing import Names

__all__ = ["CustomMetric", "np"]


@register
class CustomMetric(EvalMetric):
    """A metric computed by a function on NumPy arrays.

    Parameters
    ----------
    feval : callable
        ``feval(label, pred)`` on NumPy arrays returns the batch's value, or a pair (sum, count).
    name : str, optional
        Name of the metric in its results; by default the function's name (``custom(<lambda>)`` for
        a lambda).

    Raises
    ------
    ArgumentTypeError
        `feval` is not callable.

    Examples
    --------
    >>> worst = CustomMetric(lambda label, pred: abs(label - pred).max(), name="worst")
    >>> import numpy
    >>> worst.update([numpy.array([1.0, 2.0])], [numpy.array([1.0, 5.0])])
    >>> worst.get()
    ('worst', 3.0)
    """

    def __init__(
        self,
        feval: Callable[..., Any],
        name: str | None = None,
        allow_extra_outputs: bool = False,
        output_names: Names | None = None,
        label_names: Names | None = None,
    ) -> None:
        if not callable(feval):
            raise ArgumentTypeError(f"feval must be a function (label, pred), got {shown(feval)}")
        if name is None:
            name = getattr(feval, "__name__", type(feval).__name__)
            if "<" in name:
                name = f"custom({name})"
        super().__init__(
            name,
            output_names,
            label_names,
            feval=feval,
            allow_extra_outputs=allow_extra_outputs,
            has_global_stats=True,
        )
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels: Any, preds: Any) -> None:
        """Add a batch. labels, preds: lists of arrays; the function gets each pair."""
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            figure = self._feval(to_numpy(label), to_numpy(pred))
            total, count = figure if isinstance(figure, tuple) else (figure, 1)
            self._add(float(total), int(count))

    def get_config(self) -> dict[str, Any]:
        raise UndefinedError("CustomMetric cannot be serialized")


@guarded
def np(
    numpy_feval: Callable[..., Any], name: str | None = None, allow_extra_outputs: bool = False
) -> CustomMetric:
    """Create a :class:`CustomMetric` from a function on NumPy arrays; usable as a decorator.

    Parameters
    ----------
    numpy_feval : callable
        ``numpy_feval(label, pred)`` on NumPy arrays returns the batch's value, or a pair (sum,
        count).
    name : str, optional
        Name of the metric in its results; by default the function's name.

    Raises
    ------
    ArgumentTypeError
        `numpy_feval` cannot be called.

    Examples
    --------
    >>> @mx.metric.np
    ... def off_by(label, pred):
    ...     return abs(label - pred).sum(), label.size
    >>> off_by.name
    'off_by'
    """

    if not callable(numpy_feval):
        raise ArgumentTypeError(
            f"np takes a function of (label, pred) NumPy arrays, got {shown(numpy_feval)}"
        )

    def feval(label, pred):
        return numpy_feval(label, pred)

    feval.__name__ = getattr(numpy_feval, "__name__", "feval")
    return CustomMetric(feval, name, allow_extra_outputs)
