"""mx.monitor (mx.mon): statistics of the values in networks, and the first NaN as an error."""

from .monitor import Monitor
from .nans import AnomalyError, debug_nans

__all__ = ["AnomalyError", "Monitor", "debug_nans"]
