"""mx.executor: a Symbol bound to arrays."""

from .executor import Executor
from . import bind

__all__ = ["Executor", "bind"]
