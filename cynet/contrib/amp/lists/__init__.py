"""mx.contrib.amp.lists: lists of operators by the dtype they compute in; `symbol_fp16` and
`symbol_bf16` have MXNet's names."""

from ....operator.namespaces import public_names as _public_names
from . import symbol_bf16, symbol_fp16
from .listing import *

__all__ = ["symbol_bf16", "symbol_fp16", *_public_names(globals())]
