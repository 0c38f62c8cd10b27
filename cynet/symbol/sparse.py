"""mx.sym.sparse: the operators that have forms for sparse arrays. They are those of mx.sym."""

from ..base.errors import NotFoundError
from ..operator._base import OPERATORS
from ..operator.sparse_names import OPERATORS as NAMES
from .register import function_of


def __getattr__(name):
    if name not in NAMES:
        raise NotFoundError(f"mx.sym.sparse has no '{name}'")
    return function_of(name, OPERATORS.get(name))


def __dir__():
    return sorted(NAMES)
