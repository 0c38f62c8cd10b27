"""``__getattr__`` and ``__dir__`` of mx.sym: a function for each public operator."""

from .register import namespace, set_symbol_class
from .symbol import Symbol

set_symbol_class(Symbol)
__getattr__, __dir__ = namespace("cynet.symbol")
