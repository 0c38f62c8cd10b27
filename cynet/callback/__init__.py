"""mx.callback: callbacks of training loops: log lines, checkpoints, early stopping, histories."""

from .averaging import EMA, SWA
from .fit import FitCallback, FitState, HistoryFile, StopOnNaN, StopTraining, TimeLeft
from .loop import (
    BatchEndParam,
    LogValidationMetricsCallback,
    ProgressBar,
    Speedometer,
    do_checkpoint,
    log_train_metric,
    module_checkpoint,
)

from .rate_search import LRFinder, RateCurve
from .sweeps import Optuna, Ray
from .tensorboard import TensorBoard
from .tracking import MLflow, WeightsAndBiases
from .metric_monitors import BestCheckpoint, EarlyStopping, ReduceOnPlateau
from . import common_parameters  # last: it puts text into docstrings

__all__ = [
    "EMA",
    "SWA",
    "BatchEndParam",
    "BestCheckpoint",
    "EarlyStopping",
    "FitCallback",
    "FitState",
    "HistoryFile",
    "LRFinder",
    "LogValidationMetricsCallback",
    "MLflow",
    "Optuna",
    "ProgressBar",
    "RateCurve",
    "Ray",
    "ReduceOnPlateau",
    "Speedometer",
    "StopOnNaN",
    "StopTraining",
    "TensorBoard",
    "TimeLeft",
    "WeightsAndBiases",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]
