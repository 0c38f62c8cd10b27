"""mx.gluon.contrib.estimator.event_handler: all handlers under the module's name in MXNet."""

from .checkpoint import CheckpointHandler
from .early_stopping import EarlyStoppingHandler
from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, EventHandler, TrainBegin, TrainEnd
from .loop_handlers import GradientUpdateHandler, MetricHandler, StoppingHandler, ValidationHandler
from .progress import LoggingHandler

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "EventHandler",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]
