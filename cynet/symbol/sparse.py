"""mx.sym.sparse: the operators that have forms for sparse arrays. They are those of mx.sym."""

from ..operator.sparse_names import OPERATORS
from .register import namespace

__getattr__, __dir__ = namespace(__name__, "", OPERATORS.__contains__)
