"""mx.sym.linalg: the operators whose names start with ``_linalg_``."""

from .register import namespace

__getattr__, __dir__ = namespace(__name__, "_linalg_")
