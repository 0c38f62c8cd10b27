"""Detects when a metric has improved, for checkpoints and early stopping."""

from __future__ import annotations

import numpy as np

from ....base.errors import ArgumentError, shown, warn_user
from ....metric import EvalMetric
from ....metric.direction import larger_is_better

_MODES = ("auto", "min", "max")


def check_monitor(who, monitor):
    """Refuse an object that is not a metric."""
    if not isinstance(monitor, EvalMetric):
        raise ArgumentError(
            f"{who}: monitor must be one of estimator.train_metrics or estimator.val_metrics, got"
            f" {shown(monitor)}"
        )


def comparison(who, monitor, mode):
    """``numpy.less`` or ``numpy.greater``: compares a better value to the one before."""
    if mode not in _MODES:
        warn_user(
            f"{who}: mode must be 'auto', 'min' or 'max', got {shown(mode)}; it is taken as 'auto'",
            RuntimeWarning,
        )
        mode = "auto"
    if mode != "auto":
        return np.less if mode == "min" else np.greater
    larger = larger_is_better(str(monitor.name))
    if larger is not None:
        return np.greater if larger else np.less
    warn_user(
        f"{who}: the name of {monitor.name} does not say whether large values are good; it is taken"
        " so, as by mode='max'"
    )
    return np.greater


def worst_value(operator):
    """The value that every other one is better than."""
    return np.inf if operator is np.less else -np.inf
