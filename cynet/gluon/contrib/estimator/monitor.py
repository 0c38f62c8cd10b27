"""Comparison of a metric's values, for checkpoints and early stopping."""

from __future__ import annotations

import numpy as np

from ....base.errors import ArgumentError, shown, warn_user
from ....metric import EvalMetric
from ....metric.direction import larger_is_better

_MONITOR_MODES = ("auto", "min", "max")  # values of `mode`


def check_monitor(who, monitor):
    """Raise an error if `monitor` is not a metric."""
    if not isinstance(monitor, EvalMetric):
        raise ArgumentError(
            f"{who}: monitor must be one of estimator.train_metrics or estimator.val_metrics, got"
            f" {shown(monitor)}"
        )


def comparison_function(who, monitor, mode):
    """Return ``numpy.less`` or ``numpy.greater``: whether a new value is better than an old one."""
    if mode not in _MONITOR_MODES:
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
    """Return the infinity that every value is better than."""
    return np.inf if operator is np.less else -np.inf
