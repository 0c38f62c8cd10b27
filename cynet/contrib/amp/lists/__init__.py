"""mx.contrib.amp.lists: which operators are computed in which dtype; MXNet's names for the lists
are in `symbol_fp16` and `symbol_bf16`."""

from ....operator.namespaces import public_names as _public_names
from . import symbol_bf16, symbol_fp16
from .listing import *

__all__ = ["symbol_bf16", "symbol_fp16", *_public_names(globals())]
