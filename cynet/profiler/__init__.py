"""mx.profiler: records a trace for chrome://tracing or Perfetto, and tables of times."""

from ..operator.namespaces import guard_public_names as _guarded_names
from .control import *
from .objects import *
from . import common_parameters  # imported last: inserts text into docstrings

__all__ = _guarded_names(globals())
