"""``__getattr__`` and ``__dir__`` of mx.sym: one function for each operator without a leading underscore."""

import sys

from .register import namespace, set_symbol_class
from .symbol import Symbol

set_symbol_class(Symbol)
__getattr__, _operators = namespace("cynet.symbol")


def __dir__():
    return sorted({*vars(sys.modules["cynet.symbol"]), *_operators()})
