"""mx.executor: Executor, a Symbol bound to arrays."""

from .executor import Executor
from .cached_op import CachedOp
from . import bind

__all__ = ["CachedOp", "Executor", "bind"]
