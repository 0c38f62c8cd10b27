"""mx.contrib.tensorboard: a callback that writes metrics for TensorBoard."""

from ..callback.tensorboard import LogMetricsCallback

__all__ = ["LogMetricsCallback"]
