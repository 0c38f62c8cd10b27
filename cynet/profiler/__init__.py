"""mx.profiler: a trace for chrome://tracing or Perfetto, and tables."""

from .control import (
    dump,
    dump_profile,
    dumps,
    is_running,
    pause,
    profiler_set_config,
    profiler_set_state,
    resume,
    set_config,
    set_kvstore_handle,
    set_state,
    start,
    stop,
)
from .objects import Counter, Domain, Event, Frame, Marker, Task, scope

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "is_running",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "scope",
    "set_config",
    "set_kvstore_handle",
    "set_state",
    "start",
    "stop",
]
