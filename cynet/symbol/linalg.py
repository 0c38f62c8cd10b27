"""mx.sym.linalg: the operators whose names start with ``_linalg_``."""

from .register import module_hooks

__getattr__, __dir__ = module_hooks(__name__, "_linalg_")
