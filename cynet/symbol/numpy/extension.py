"""mx.sym.npx: functions of mx.npx that make nodes of graphs."""

from .functions import module_getattr

__getattr__ = module_getattr("npx")
