"""``__getattr__`` and ``__dir__`` of mx.sym: a function for each public operator."""

from .register import namespace

__getattr__, __dir__ = namespace("cynet.symbol")
