"""Whether a metric has become better, for checkpoints and early stopping."""

from __future__ import annotations

import numpy as np

from ....base.errors import ArgumentError, shown, warn_user
from ....metric import EvalMetric

_MODES = ("auto", "min", "max")
_LARGE_IS_GOOD = ("acc", "f1", "mcc", "pcc", "pearson")
_SMALL_IS_GOOD = ("loss", "mse", "mae", "perplexity", "entropy", "likelihood", "error")


def check_monitor(who, monitor):
    """Refuse what is no metric."""
    if not isinstance(monitor, EvalMetric):
        raise ArgumentError(
            f"{who}: monitor must be one of estimator.train_metrics or estimator.val_metrics, got"
            f" {shown(monitor)}"
        )


def comparison(who, monitor, mode):
    """``numpy.less`` or ``numpy.greater``: what a better value is to the one before."""
    if mode not in _MODES:
        warn_user(
            f"{who}: mode must be 'auto', 'min' or 'max', got {shown(mode)}; it is taken as 'auto'",
            RuntimeWarning,
        )
        mode = "auto"
    if mode != "auto":
        return np.less if mode == "min" else np.greater
    name = str(monitor.name).lower()
    if any(each in name for each in _LARGE_IS_GOOD):
        return np.greater
    if any(each in name for each in _SMALL_IS_GOOD):
        return np.less
    warn_user(
        f"{who}: the name of {monitor.name} does not say whether large values are good; it is taken"
        " so, as by mode='max'"
    )
    return np.greater


def worst(operator):
    """What every value is better than."""
    return np.inf if operator is np.less else -np.inf
