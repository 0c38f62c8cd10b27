"""``__getattr__`` and ``__dir__`` of mx.sym: a function for each public operator."""

import sys

from .register import namespace, set_symbol_class
from .symbol import Symbol

set_symbol_class(Symbol)
__getattr__, _operators = namespace("cynet.symbol")


def __dir__():
    return sorted({*vars(sys.modules["cynet.symbol"]), *_operators()})
