"""Metrics from a user's function: CustomMetric and np()."""

from ..errors import ArgumentTypeError, UndefinedError, shown
from ..guard import guarded
from .base import EvalMetric, check_label_shapes, register, to_numpy


@register
@guarded
class CustomMetric(EvalMetric):
    """A metric computed by a function on NumPy arrays.

    Parameters
    ----------
    feval : callable
        ``feval(label, pred)`` returns the batch's figure, or a pair (sum, count).
    name : str, optional
        The function's name by default (``custom(<lambda>)`` for a lambda).
    allow_extra_outputs : bool
        Let there be more predictions than labels; the surplus is not looked at.

    Examples
    --------
    >>> worst = CustomMetric(lambda label, pred: abs(label - pred).max(), name="worst")
    >>> import numpy
    >>> worst.update([numpy.array([1.0, 2.0])], [numpy.array([1.0, 5.0])])
    >>> worst.get()
    ('worst', 3.0)
    """

    def __init__(
        self, feval, name=None, allow_extra_outputs=False, output_names=None, label_names=None
    ):
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

    def update(self, labels, preds):
        """labels, preds: lists of arrays, given to the function pair by pair."""
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, wrap=True)
        for label, pred in zip(labels, preds):
            figure = self._feval(to_numpy(label), to_numpy(pred))
            total, count = figure if isinstance(figure, tuple) else (figure, 1)
            self._add(float(total), int(count))

    def get_config(self):
        raise UndefinedError("CustomMetric cannot be serialized")


@guarded
def np(numpy_feval, name=None, allow_extra_outputs=False):
    """A :class:`CustomMetric` from a function on NumPy arrays; usable as a decorator.

    Examples
    --------
    >>> import cynet as mx
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
