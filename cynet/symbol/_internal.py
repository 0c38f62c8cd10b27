"""mx.sym._internal: the operators whose names start with an underscore."""

from ..operator._base import OPERATORS
from .register import function_of, module_hooks


def _square_sum(data, axis=None, keepdims=False, exclude=False, name=None, attr=None):
    """``sum(square(data))`` over axes: of a row_sparse array its rows alone."""
    squares = function_of("square", OPERATORS.get("square"))(data)
    total = function_of("sum", OPERATORS.get("sum"))
    return total(squares, axis=axis, keepdims=keepdims, exclude=exclude, name=name, attr=attr)


__getattr__, __dir__ = module_hooks(__name__, "", lambda name: name[0] == "_")
