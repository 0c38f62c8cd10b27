"""The dependency engine: functions run when the variables they read and write are free."""

import atexit

from ._engine_python import Engine, NaiveEngine, ThreadedEngine, Variable, get, stop_at_exit

__all__ = ["Engine", "NaiveEngine", "ThreadedEngine", "Variable", "get"]

atexit.register(stop_at_exit)
