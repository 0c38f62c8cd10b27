"""mx.sym.contrib: the operators whose names start with ``_contrib_``."""

from .register import namespace

__getattr__, __dir__ = namespace(__name__, "_contrib_")
