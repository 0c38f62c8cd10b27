"""mx.monitor (mx.mon): statistics of values in networks, and debug_nans."""

from .monitor import Monitor
from .nans import AnomalyError, debug_nans

__all__ = ["AnomalyError", "Monitor", "debug_nans"]
