"""mx.sym.npx: functions of mx.npx that make nodes of graphs."""

from .functions import namespace

__getattr__ = namespace("npx")
