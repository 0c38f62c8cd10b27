"""mx.profiler: a trace for chrome://tracing or Perfetto, and tables."""

from ..operator.namespaces import guarded_names as _guarded_names
from .control import *
from .objects import *
from . import common_parameters  # last: it puts text into docstrings

__all__ = _guarded_names(globals())
