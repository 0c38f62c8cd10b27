"""mx.sym.sparse: the operators with sparse forms, the same objects as in mx.sym."""

from ..operator._base import OPERATORS as REGISTRY
from ..operator.sparse.names import OPERATORS
from .register import function_of, module_hooks

adagrad_update = function_of("adagrad_update", REGISTRY.get(OPERATORS["adagrad_update"]))
retain = function_of("retain", REGISTRY.get(OPERATORS["retain"]))
__all__ = ["adagrad_update", "retain"]

__getattr__, __dir__ = module_hooks(__name__, "", OPERATORS.__contains__)
