"""mx.monitor (mx.mon): statistics of what flows through networks, and the first NaN as an error."""

from .monitor import Monitor
from .nans import AnomalyError, debug_nans

__all__ = ["AnomalyError", "Monitor", "debug_nans"]
