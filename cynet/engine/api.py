"""The dependency engine: functions run when the variables they read and write are free."""

import atexit

from .bulk_size import bulk, set_bulk_size
from .python_tasks import stop_at_exit
from .python_work import Engine, NaiveEngine, ThreadedEngine, Variable, get

__all__ = ["Engine", "NaiveEngine", "ThreadedEngine", "Variable", "bulk", "get", "set_bulk_size"]

atexit.register(stop_at_exit)
