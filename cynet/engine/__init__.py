"""mx.engine: functions run when the variables they read and write are free."""

from .api import Engine, NaiveEngine, ThreadedEngine, Variable, bulk, get, set_bulk_size

__all__ = ["Engine", "NaiveEngine", "ThreadedEngine", "Variable", "bulk", "get", "set_bulk_size"]
