"""Whether a metric has become better, for checkpoints and early stopping."""

from __future__ import annotations

import numpy as np

from ....base.errors import ArgumentError, warn_user
from ....metric import EvalMetric

_MODES = ("auto", "min", "max")
_LARGE_IS_GOOD = ("acc", "f1", "mcc", "pcc", "pearson")
_SMALL_IS_GOOD = ("loss", "mse", "mae", "perplexity", "entropy", "likelihood", "error")


def check_monitor(monitor, why=""):
    """Refuse what is no metric."""
    if not isinstance(monitor, EvalMetric):
        raise ArgumentError(
            f"{why}lease provide one of the metric objects from estimator.train_metrics and"
            " estimator.val_metrics as monitor."
        )


def comparison(who, monitor, mode):
    """``numpy.less`` or ``numpy.greater``: what a better value is to the one before."""
    if mode not in _MODES:
        warn_user(
            f"{who} mode {mode} is unknown, fallback to auto mode: large accuracies are good, and"
            " small losses",
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
        f"`greater` operator will be used to determine if {monitor.name} has improved. Please"
        " specify `mode='min'` to use the `less` operator. Specify `mode='max'` to disable this"
        " warning."
    )
    return np.greater


def worst(operator):
    """What every value is better than."""
    return np.inf if operator is np.less else -np.inf
